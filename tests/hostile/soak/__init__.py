"""Random kills and restarts for as long as is asked, over all wires, with programs whose results are known.

    python -m tests.hostile.soak --minutes 30           one table by wire and program; 1 if anything is wrong or left
    python -m tests.hostile.soak --round 7:123          one round again, with all that was said

programs    what the ranks do, and the script that starts them
rounds      one round: started, struck, started again until it is done; then it looks for leftovers
__main__    rounds until the time is over, and the table
"""
