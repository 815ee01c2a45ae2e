"""The operations: plain functions of tensors, each with its gradient beside it.

    elementwise/       one element at a time: arithmetic and its kin, comparisons, copies
    along_axes/        many elements to fewer: sums, extremes, order, running totals
    making/            what makers of tensors share, and methods that make or fill a tensor
    shapes/            the same elements in another arrangement
    indexing/          parts that are named by indices or masks, read and written
    linear_algebra/    products of vectors and matrices
    statistics/        counting, differences, similarity
    layers/            what networks are made of, and the losses that judge them
    images/            convolution, pooling, padding
    complex_numbers    their two parts
    accumulation       adding to places that may be named twice: the gradient of reading by index
    plugs  fast/       where a faster form may stand in for a simple one; the faster forms
    autocasting        which of them `autocast` computes in a lower type
    gradients          what a tensor can be asked about its gradient
    operators          what `x + y` and `~x` mean

Begin with `core.operations`. `tensor.Tensor` lists them as methods; the package's face offers
them as functions.
"""
