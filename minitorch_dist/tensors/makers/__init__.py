"""Functions that make tensors from nothing, or from memory of others. They return a `Tensor`, so they stand above it.

creation    from literals and from memory, filled with one value, or shaped like another tensor
ranges      evenly spaced
random      uniform, normal, whole numbers, permutations
"""
