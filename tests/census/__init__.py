"""The census: which functions of the library a set of programs enters, by a mark in each function.

marks      a mark at the start of every function, in all processes of a run
walks      the programs whose functions are counted
conforms   a program of its own: the contract of some wires
names      which public names nobody uses
__main__   `python -m tests.census`
"""
