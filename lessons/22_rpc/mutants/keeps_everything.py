"""The callee keeps every answer for ever: right, until the memory is full.

Caught by: memory
Passes: correct, at most once, answered
"""

# BLANK 2: who knows whether somebody will ask for it again
return
# END
