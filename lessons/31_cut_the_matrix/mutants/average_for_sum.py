"""Leave averages, as data parallel does.

Here the ranks have summands of one result, no samples of one mean.

Caught by: enter and leave, correct, heads, in the library
Passes: pieces, rows, bytes
"""

# BLANK 5: the mean
total = summand.clone()
dist.all_reduce(total)
return total / dist.get_world_size()
# END
