"""Always wait for everybody: what is up to date is never too old. Right, and as slow as the slowest in each step.

Caught by: prompt, time
Passes: right, fresh, never stuck
"""

# BLANK 1: everybody has pushed as often as this one
return clocks[worker] <= min(clocks)
# END
