"""Everybody who leaves sets the counter back to 0.

Whoever has come to the next round already was counted in vain, and the others wait for him.

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
