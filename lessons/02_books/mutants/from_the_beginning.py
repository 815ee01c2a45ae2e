"""Each view is looked for at the beginning of its storage, although it may start later.

A view that begins with the first number is right: x itself, x.T, x[0].

Caught by: places
Passes: counted, freed, memory
Seen: https://github.com/torch-spyre/torch-spyre/issues/2906
"""

# BLANK 3: the offset is forgotten
return sum(i * stride for i, stride in zip(index, self.strides, strict=True))
# END
