"""Four ranks are written into the program: right for four ranks, and for no other number.

Caught by: one ring
"""

# BLANK 1: as many as in the picture
return (rank + 1) % 4
# END
