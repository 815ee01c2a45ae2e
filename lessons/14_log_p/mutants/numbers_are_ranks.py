"""The pairs fold, but the ranks that are left swap under their ranks' numbers, as if there were no gaps.

With three ranks, 1 and 2 are left: as the numbers 0 and 1.

Caught by: ranks, correct
Passes: numbers, fold in, fold out
"""

# BLANK 2: as if nobody had folded
return number
# END
