"""Each bucket is waited for where it is launched: right, and nothing is hidden.

Caught by: launch, time
Passes: order, average, correct, never stuck, frozen
"""

# BLANK 2: and waits
flat = pack(bucket)
work = dist.all_reduce(flat, async_op=True)
work.wait()
self.sent.append((flat, work))
# END
