"""Rarely used operations of the room `ops.shapes`.

grids          all pairs, all choices, side by side: tensors put together from several vectors or blocks
layout         how a tensor lies in memory: sizes, strides, bytes. Nothing here is recorded
pieces         parts of a tensor, as views: slices, splits, diagonals, sliding windows
rearranging    the elements in other places: turned, mirrored, repeated, cut to triangles
striding       windows by hand: `as_strided`, and the in-place changes of a tensor's shape
"""
