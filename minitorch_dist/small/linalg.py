"""Norms, by torch's names. Decompositions and solvers are in PyTorch."""

from __future__ import annotations

from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors.ops.along_axes.norms import linalg_norm as norm, vector_norm

__all__ = ["norm", "vector_norm"]

not_offered.guard(globals())
