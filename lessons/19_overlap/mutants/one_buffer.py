"""All buckets are packed into one vector, to save memory.

The second bucket is written over the first, which is still being sent. In a well-known engine a counter chose between two such
buffers, and went back to the first one too early. Gradients were corrupted, and only with overlap.

Caught by: average, frozen
Passes: order, launch
Seen: https://github.com/deepspeedai/DeepSpeed/pull/7805
"""

# BLANK 2: packed into what may still be under way
if not self.sent:
    self.buffer = pack([p for each in self.buckets for p in each])
flat = self.buffer[: sum(p.numel() for p in bucket)]
flat.copy_(pack(bucket))
self.sent.append((flat, dist.all_reduce(flat, async_op=True)))
# END
