"""An isend that nobody waits for: the caller writes to its tensor while it is still being sent.

Small messages are copied at once, so it works until the model grows.

Caught by: frozen
Passes: correct, never stuck, circle
Seen: https://github.com/MxUI/MUI/pull/38
Seen: https://github.com/FEniCS/dolfinx/pull/4328
"""

# BLANK 1: its Work is thrown away
dist.isend(tensor, right)
dist.recv(received, left)
# END
