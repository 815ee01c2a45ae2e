"""The ring the other way round. Every sum is right, and the picture is a mirror of what was asked for.

Caught by: one ring
Passes: correct, exactly once, never stuck
"""

# BLANK 1: the neighbour on the other side
return (rank - 1) % size
# END
