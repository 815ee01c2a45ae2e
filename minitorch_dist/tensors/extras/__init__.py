"""Operations under torch's names that neither the course, the programs, the models nor the floors above use.

They are written as those of `ops`, in rooms of the same names:

    elementwise        in-place forms, error functions, Γ, hyperbolic functions, roundings, truth tables
    along_axes         running extremes
    indexing           reductions into indexed places, replaced parts
    linear_algebra     Fourier transforms, fused products, chains, some decompositions
    shapes             grids, triangles, in-place changes of a shape
    statistics         counting, covariance, distances
    complex_numbers    questions about conjugates
    sparse             matrices by coordinates, and their products
    grid_sampling      images seen at computed places
    outputs            `out=`, for the functions that have it in torch
    methods            all of them as methods of a tensor

The package's face offers them as functions. Nothing else imports them; `setup.cfg` and a test hold that. An operation
that the house begins to use moves to `ops`.
"""
