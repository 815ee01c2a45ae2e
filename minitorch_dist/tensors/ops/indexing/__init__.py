"""Parts named by indices or masks, read and written.

indices                          what an index means, as plain numpy
indexing  selecting              `x[…]`; whole slices by a vector of indices
gathering                        single elements by indices of the tensor's own shape
masking                          where a mask is true
"""
