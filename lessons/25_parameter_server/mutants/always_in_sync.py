"""All workers always wait for each other, so no value is too old: right, but as slow as the slowest in each step.

Caught by: prompt, time
Passes: correct, fresh, never stuck
"""

# BLANK 1: everybody has pushed as often as this one
return clocks[worker] <= min(clocks)
# END
