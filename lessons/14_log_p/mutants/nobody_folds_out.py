"""Those that folded in never hear of the result.

Caught by: fold out, correct, exactly once, halves
Passes: numbers, ranks, fold in, never stuck
"""

# BLANK 4: nothing
return
# END
