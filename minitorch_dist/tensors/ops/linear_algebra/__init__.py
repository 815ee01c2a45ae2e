"""Products of vectors and matrices.

products       of vectors, matrices and batches
contraction    `einsum`, and the reading of its equations
"""
