"""All parameters share one memory.

The missing part of one parameter is added to the next. The first version for PyTorch's PowerSGD had a key that changed between steps, and said
so in its title.

Caught by: nothing is lost
Passes: outer step, correct, bytes, few bytes, quorum
Seen: https://github.com/pytorch/pytorch/pull/48670
"""

# BLANK 3: the same key for all
wanted = change + self.missing.get(0, 0)
levels, scale = to_bytes(wanted)
self.missing[0] = wanted - levels * scale
# END
