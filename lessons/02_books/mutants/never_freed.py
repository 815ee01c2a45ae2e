"""Bytes are written down and never crossed out: the total of all that ever lived.

Caught by: freed
Passes: counted, memory, places
"""

# BLANK 1: only entered
self.by_category[category] += storage.nbytes
# END
