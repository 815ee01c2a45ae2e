"""Whether there is CUDA: as much as there are simulated devices."""

from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors import devices

not_offered.guard(globals())


class matmul:
    """Products are computed in their full type, whatever is set here."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


def is_built() -> bool:
    return devices.count() > 0
