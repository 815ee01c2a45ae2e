"""Programs whose verdict is known: right ones, which no hardship may accuse, and wrong ones, which exploring finds and names.

right        at least forty: the gallery of schedules, the course's solutions, the zoo's repaired programs, and usual patterns
wrong        at least twenty bugs, each with the words by which its report names it
__main__     `python -m tests.corpus` prints in how many seeds each bug is found (docs/simulator_faults.md has the table)
"""
