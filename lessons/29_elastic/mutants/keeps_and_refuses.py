"""The weights of an old generation are kept, and then refused

The error comes too late: the old state lies on the disk already. Training without rounding does not show it, because all generations
come to the same weights.

Caught by: together
Passes: correct
"""

# BLANK 2: first kept, then refused
if step == self.checkpoint.step + 1:
    self.checkpoint = Checkpoint(step, weights)
if generation != self.generation:
    raise Outdated("an old generation saves")
# END
