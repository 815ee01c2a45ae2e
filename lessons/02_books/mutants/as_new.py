"""The strides of new numbers, row by row, instead of those that the numbers have.

It is right for x as it was made, and wrong for x.T and for a column of x.

Caught by: strides
Passes: shapes, sum_to, plugged in
Seen: https://github.com/HomericIntelligence/Odyssey/issues/3391
"""

# BLANK 5: what is stretched stays where it is, all else is taken to lie row by row
found, step = [], 8
for size, wanted in zip(reversed(aligned(shape, len(larger), 1)), reversed(larger), strict=True):
    found.insert(0, step if size == wanted else 0)
    step *= size
return tuple(found)
# END
