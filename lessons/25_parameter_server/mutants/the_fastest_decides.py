"""No worker may read while the fastest is too far ahead of the slowest: the gate asks for the wrong clock.

The fastest is s + 1 ahead once it has pushed. Then the slowest may not read either, and no worker goes on.

Caught by: never stuck, prompt
Passes: fresh
Seen: https://github.com/snuspl/cruise/pull/787
"""

# BLANK 1: how far all have drifted apart
here = [clock for clock in clocks if clock < math.inf]
return max(here) - min(here) <= staleness
# END
