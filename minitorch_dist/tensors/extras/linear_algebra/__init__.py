"""Rarely used operations of the room `ops.linear_algebra`.

added_products    beta · input + alpha · (a product), the product being of matrices, vectors, or batches of matrices
chains            the product of many matrices. The order of the multiplications decides how many there are
eigenvectors      eigenvalues and eigenvectors of any square matrix, which are complex; equations of tensors
elimination       Gaussian elimination with exchanged rows, and results that tell instead of raising
fourier           discrete Fourier transforms, over numpy's
matrices          the common parts of operations on square matrices: checks, errors, transposes. Also trace, cross product, powers
solving           linear equations, inverses and determinants
"""
