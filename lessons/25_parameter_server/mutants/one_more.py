"""The bound is one too large: a worker that is s + 1 steps ahead may still read.

Caught by: correct, fresh
Passes: never stuck
"""

# BLANK 1: who is at most s steps behind when it has finished
return clocks[worker] - 1 - min(clocks) <= staleness
# END
