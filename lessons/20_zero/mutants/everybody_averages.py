"""Every rank gets the average, and ranks that do not need it throw it away: right, for half as many bytes again, or more.

Caught by: bytes
Passes: correct, memory
"""

# BLANK 3: an all_reduce, and the owner keeps it
dist.all_reduce(p.grad)
p.grad /= dist.get_world_size()
if self.owner[p] != dist.get_rank():
    p.grad = None
# END
