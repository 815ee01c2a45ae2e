"""Keep every answer for ever: lazy, and right, until memory is full.

Caught by: memory
Passes: right, at most once, answered
"""

# BLANK 2: who knows whether somebody will ask for it again
return
# END
