"""The sum of all rows is computed on each rank, and cut.

It is right, and takes twice the bytes of a reduce_scatter.

Caught by: bytes
Passes: correct, heads, rows, trains
"""

# BLANK 8: all_reduce
rows = part(len(summand), "rows of the sequence")
total = summand.clone()
dist.all_reduce(total)
return total[rows].clone()
# END
