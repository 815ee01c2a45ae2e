"""The bound is one too large: a worker may be s + 1 steps ahead.

Caught by: right, fresh
Passes: never stuck
"""

# BLANK 1: who is at most s steps behind when it has finished
return clocks[worker] - 1 - min(clocks) <= staleness
# END
