"""Those that folded in never hear of the result.

Caught by: correct, exactly once, halves
Passes: numbers, never stuck
"""

# BLANK 4: nothing
return
# END
