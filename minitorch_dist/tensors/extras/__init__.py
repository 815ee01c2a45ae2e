"""Operations under torch's names that neither the course, the programs, the models nor the floors above use.

They are written as those of `ops`, in rooms of the same names:

    elementwise        in-place forms, error functions, Γ, Bessel functions, hyperbolic functions, roundings, truth tables
    along_axes         running extremes, slices that are shortened
    indexing           reductions into indexed places, replaced parts
    linear_algebra     Fourier transforms, fused products, chains, elimination, eigenvalues of any matrix
    shapes             grids, triangles, in-place changes of a shape
    statistics         counting, covariance, distances
    complex_numbers    questions about conjugates
    sparse             matrices by coordinates, and their products
    grid_sampling      images seen at computed places
    spectrograms       Fourier transforms of pieces of a signal, and windows
    outputs            `out=`, for the functions that have it in torch
    methods            all of them as methods of a tensor

The package's face offers them as functions. Nothing else imports them; `setup.cfg` and a test hold that. An operation
that the house begins to use moves to `ops`.
"""
