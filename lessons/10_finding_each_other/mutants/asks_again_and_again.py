"""Lazy: ask until all have come. Right, but the store is busy with nothing else.

Caught by: commands
Passes: correct, never stuck, ranks, memory
"""

# BLANK 2: a command per look
here, before = self.round, self.round - 1
self.round += 1
if self.store.add(f"came/{here}", 1) == self.size:
    for name in KEYS:
        self.store.delete_key(f"{name}/{before}")
while self.store.add(f"came/{here}", 0) < self.size:
    pass
# END
