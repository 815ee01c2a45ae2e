"""Neighbours in pairs, 0 with 1 and 2 with 3: two rings instead of one.

With two ranks it is the right one.

Caught by: one ring
"""

# BLANK 1: the other one of the pair
return rank ^ 1 if rank ^ 1 < size else rank
# END
