"""Everybody who leaves sets the counter back to 0.

A rank that has already come to the next round is no longer counted, and the others wait for it.

Caught by: never stuck
Passes: ranks
Seen: https://github.com/vtest/VTest/pull/11
"""

# BLANK 2: a reset by each rank
self.round += 1
if self.store.add("came", 1) == self.size:
    self.store.set(f"open/{self.round}", "")
self.store.wait([f"open/{self.round}"])
self.store.set("came", "0")
# END
