"""Two ranks that do the same at different lines are taken for a mismatch.

Caught by: mismatch
Passes: correct, never stuck
"""

# BLANK 3: the whole sentence is compared
first = self.store.compare_set(f"doing/{here}", "", mine).decode()
if first.partition(" is in ")[2] != mine.partition(" is in ")[2]:
    self.store.set(f"mismatch/{here}", f"{first}; {mine}")
self.barrier()
# END
