"""The place is computed from the shape, as if all numbers lay row by row; strides are not asked.

For a tensor that was just made it is right, and for its rows, too.

Caught by: places
Passes: counted, freed, memory
Seen: https://github.com/HomericIntelligence/Odyssey/issues/3391
"""

# BLANK 3: as many numbers further as there are numbers in a row
place = 0
for i, size in zip(index, self.shape, strict=True):
    place = place * size + i
return self.offset + place
# END
