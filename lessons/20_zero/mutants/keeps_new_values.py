"""Owners do not send their new values.

Each rank goes on with new values for its own part and old values for all others. A library's broadcast skipped the layers that it
had replaced itself, nearly all of the model. The loss stayed flat, and people looked for the cause in their learning rates.

Caught by: correct
Passes: memory
Seen: https://github.com/lodestone-rock/RamTorch/issues/13
"""

# BLANK 2: the own step, and no more
self.optim.step()
# END
