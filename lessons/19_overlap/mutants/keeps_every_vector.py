"""Every vector that was ever sent stays in a list.

The results are right, and memory grows with each step, until an accelerator is full after some thousand of them.

Caught by: correct
Passes: order, launch, average, never stuck, frozen
"""

# BLANK 2: and who takes them out?
flat = pack(bucket)
self.vectors = [*getattr(self, "vectors", []), flat]
self.sent.append((flat, dist.all_reduce(flat, async_op=True)))
# END
