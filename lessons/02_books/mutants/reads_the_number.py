"""Returns the number that lies at the place, and not the place.

In a storage of 0, 1, 2, … both are the same, so the numbers have to change before the question is asked.

Caught by: places
Passes: counted, freed, memory
"""

# BLANK 3: begin at the offset, and go along each axis as many strides as the index says (about 1 line)
return int(self.array[index])
# END
