"""A change is sent once, and never again.

If the quorum fails, the work since the one before is lost, although its machine lives.

Caught by: late
Passes: outer step, correct, bytes, quorum
"""

# BLANK 6: the last one only
return [one for one in changes[-1:] if one.number > state.counted.get(one.life, 0)]
# END
