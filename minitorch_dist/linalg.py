"""Linear algebra, by torch's names."""

from __future__ import annotations

from minitorch_dist.tensors.ops.products import matmul as matmul
from minitorch_dist.tensors.ops.products import multi_dot as multi_dot
