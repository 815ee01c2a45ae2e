"""Everybody receives first: now nobody ever sends, with any kind of send.

Caught by: correct, never stuck
"""

# BLANK 1: the other way round
dist.recv(received, left)
dist.send(tensor, right)
# END
