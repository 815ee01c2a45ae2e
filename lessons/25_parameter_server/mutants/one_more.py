"""Off by one: s steps behind, and the one that is just under way.

Caught by: right, fresh
Passes: never stuck
"""

# BLANK 1: who is at most s steps behind when it has finished
return clocks[worker] - 1 - min(clocks) <= staleness
# END
