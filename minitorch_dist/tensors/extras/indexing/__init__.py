"""Rarely used operations of the room `ops.indexing`.

replacing            a tensor with one of its parts replaced: slices and diagonals, as out-of-place writes
scatter_reduction    `scatter_reduce`: values that meet at one place are summed, multiplied, averaged, or compared
"""
