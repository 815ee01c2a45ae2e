"""All buckets are packed into one vector, to save memory.

The second is written over the first, which is still under way. In a well-known engine a counter that chose between two
such buffers went back to the first one too early: gradients were corrupted, and only with overlap.

Caught by: frozen
Seen: https://github.com/deepspeedai/DeepSpeed/pull/7805
"""

# BLANK 2: packed into what may still be under way
if not self.sent:
    self.buffer = pack([p for each in self.buckets for p in each])
flat = self.buffer[: sum(p.numel() for p in bucket)]
flat.copy_(pack(bucket))
self.sent.append((flat, dist.all_reduce(flat, async_op=True)))
# END
