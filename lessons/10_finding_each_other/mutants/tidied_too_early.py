"""The last one deletes the keys of its own round: somebody is just about to ask for them.

Caught by: never stuck
Passes: ranks
"""

# BLANK 2: this round instead of the one before
here = self.round
self.round += 1
if self.store.add(f"came/{here}", 1) == self.size:
    self.store.set(f"open/{here}", "")
    for name in KEYS:
        self.store.delete_key(f"{name}/{here}")
else:
    self.store.wait([f"open/{here}"])
# END
