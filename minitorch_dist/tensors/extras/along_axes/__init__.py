"""Rarely used operations of the room `ops.along_axes`.

renormalizing    slices that are too long are shortened
scans            running totals along an axis: each result depends on the elements up to its own place
"""
