"""Both ranks of a pair have the pair's number.

Of a pair only one swaps. With two ranks under one number, both wait for the same partner, which knows of one of them.

Caught by: numbers, ranks, correct
Passes: fold out
"""

# BLANK 1: nobody waits
if rank >= 2 * rest:
    return rank - rest
return rank // 2
# END
