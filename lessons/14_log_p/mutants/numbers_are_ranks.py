"""The pairs fold, but who is left swaps under its rank's number as if there were no gaps.

With three ranks, 1 and 2 are left: as the numbers 0 and 1.

Caught by: numbers, right
"""

# BLANK 2: as if nobody had folded
return number
# END
