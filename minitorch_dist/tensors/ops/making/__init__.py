"""Tensors from nothing, or from somebody else's memory.

literals             from what people write down to an array
creation  ranges     filled, and evenly spaced
siblings  legacy     like another tensor; the old constructors
random  draws        uniform, normal, permutations; coins and dice
random_fill          the same into a tensor that exists
exchange             memory shared with numpy and others
"""
