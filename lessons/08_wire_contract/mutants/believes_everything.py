"""Lazy: what was written by `encode` is read, and who would write anything else?

Caught by: refuses, frozen
Passes: correct, same everywhere
"""

# BLANK 2: no question is asked
return np.frombuffer(payload, dtype).reshape(shape)
# END
