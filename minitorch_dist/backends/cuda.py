"""Whether there is CUDA: as much as there are simulated devices."""

from __future__ import annotations

from minitorch_dist.tensors import devices


class _Matmul:
    """`backends.cuda.matmul`: products are computed in their full type whatever is set here."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = _Matmul()


def is_built() -> bool:
    return devices.count() > 0
