"""Products, and what matrices are made of.

products                              of vectors, matrices and batches
contraction  subscripts               `einsum`, and the reading of its equations
matrices                              what square matrices share: checks, errors, transposes
decompositions  pseudoinverse         factors, and what follows from the singular values
solving  matrix_norms                 equations, inverses, determinants; norms
"""
