"""The last segment is forgotten, too.

Backward begins with it, so it is computed again a moment after it was forgotten. That costs time, and one output more is held.

Caught by: time
Passes: correct, same dice, frozen inputs, nested
"""

# BLANK 6: each one through a checkpoint
for part in self.parts:
    x = checkpoint(part, x)
return x
# END
