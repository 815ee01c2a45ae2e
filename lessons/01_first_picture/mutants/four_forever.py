"""Four ranks are written into the program: right for four, and for nobody else.

Caught by: one ring
"""

# BLANK 1: as many as in the picture
return (rank + 1) % 4
# END
