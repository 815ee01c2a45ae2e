"""The neighbour's rank is a float, which is equal to the right one.

1.0 == 1, so comparisons and dictionaries take it; a list's index, a header of a message or another library do not.

Caught by: one ring
"""

# BLANK 1: 4.0 is no place in a list
return (rank + 1.0) % size
# END
