"""The door is never shut again: the first round is a barrier, and all others let everybody through.

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
