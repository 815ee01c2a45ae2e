"""reduce_scatter as an all_reduce, of which each rank takes its part

It is right, and sends twice what is needed: the second half brings parts that nobody wants.

Caught by: reduce_scatter
Passes: correct, all_gather
"""

# BLANK 4: by all_reduce
whole = tensor.view(-1).clone()
all_reduce(whole, op)
output.copy_(chunks(whole, dist.get_world_size())[dist.get_rank()])
# END
