"""The operations: plain functions of tensors, each with its gradient beside it.

`tensor.Tensor` lists them as methods; the package's face offers them as functions.
"""
