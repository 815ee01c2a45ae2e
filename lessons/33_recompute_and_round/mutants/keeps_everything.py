"""No checkpoint: right, quick, and everything is held.

Caught by: memory
Passes: correct, same dice
"""

# BLANK 6: all segments as they are
for part in self.parts:
    x = part(x)
return x
# END
