"""The barrier is never closed again: it holds in the first round, and lets everybody through in all others.

Caught by: correct
Passes: never stuck, ranks
Seen: https://github.com/citra-emu/citra/pull/1666
"""

# BLANK 2: good for once
self.round += 1
if self.store.add("came", 1) == self.size:
    self.store.set("open", "")
self.store.wait(["open"])
# END
