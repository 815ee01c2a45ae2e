"""Two steps where one is needed: two ranks look before either has written, and both are rank 0.

Caught by: ranks
Passes: correct, never stuck
"""

# BLANK 1: read, add, write
rank = int(store.get("joined")) if store.check(["joined"]) else 0
store.set("joined", str(rank + 1))
# END
