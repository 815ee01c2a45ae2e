"""Products of vectors and matrices.

products                              of vectors, matrices and batches
contraction  subscripts               `einsum`, and the reading of its equations
matrices                              the trace
"""
