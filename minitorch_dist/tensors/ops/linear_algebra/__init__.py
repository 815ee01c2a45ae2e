"""Products, and what matrices are made of.

products  added_products  chains      vectors, matrices, batches; plus a tensor; many of them
contraction  subscripts               `einsum`, and the reading of its equations
matrices                              what square matrices share: checks, errors, transposes
decompositions  pseudoinverse         factors, and what follows from the singular values
fourier                               discrete Fourier transforms
solving  matrix_norms                 equations, inverses, determinants; norms
"""
