"""Figures and tables of papers, reproduced by our own code: published, ours, difference.

A module for each paper, whose `rows` runs our code (its counters, its ledger, its clock; never the printed formula) and puts what came out beside
what was published. That stands in `papers.toml`, with the title and what is checked. To add a paper, write both. `mtd papers` prints them, and a test holds
each row to its tolerance. `blind` asks plans for 262 published rows, half of which nobody had looked at.
"""

from mtd.papers.paper import PAPERS as PAPERS, Row as Row, paper as paper
