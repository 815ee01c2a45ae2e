"""all_gather by the library's all_gather

It is right, but the stack that is assembled from the lessons has no other all_gather than this one.

Caught by: all_gather
Passes: correct, reduce_scatter, all_to_all
"""

# BLANK 3: the library's
parts = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
dist.all_gather(parts, tensor)
output.copy_(torch.cat(parts))
# END
