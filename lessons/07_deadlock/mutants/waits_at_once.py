"""An isend that is waited for before anything is received: a send with another name.

Works with a hundred elements and hangs with more.

Caught by: never stuck
Passes: correct, circle
Seen: https://github.com/rsmpi/rsmpi/issues/144
"""

# BLANK 1: the wait comes too early
dist.isend(tensor, right).wait()
dist.recv(received, left)
# END
