"""Nothing is ever deleted: a training of a million steps leaves two million keys.

Caught by: memory
Passes: correct, never stuck, groups, mismatch
"""

# BLANK 2: right, and it grows
here = self.round
self.round += 1
if self.store.add(f"came/{here}", 1) == self.size:
    self.store.set(f"open/{here}", "")
self.store.wait([f"open/{here}"])
# END
