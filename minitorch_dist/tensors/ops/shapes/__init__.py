"""The same elements in another arrangement; views where strides allow it.

reshaping  axes  broadcasting    other shapes, other orders of dimensions, dimensions repeated
pieces  joining                  slices and splits; several tensors become one
strides                          how a tensor lies in memory
rearranging                      turned, mirrored, repeated, cut to triangles
duplication  scalars             copies for Python and pickle; plain numbers and lists
"""
