"""The gathered rows are float32, whatever came.

`torch.empty` makes the type that is the default. For float32 all is well.

Caught by: rows, trains
Passes: correct, heads
"""

# BLANK 7: without a dtype
whole = torch.empty(dist.get_world_size() * len(mine), *mine.shape[1:])
dist.all_gather_into_tensor(whole, mine.contiguous())
return whole
# END
