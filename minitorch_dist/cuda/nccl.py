"""`torch.cuda.nccl`: the version. Tensors of simulated devices go over TCP where `nccl` is asked for."""

from __future__ import annotations

from minitorch_dist.tensors import devices


def version() -> tuple[int, int, int]:
    """The version of NCCL that the simulated devices can stand for.

    torch sends bfloat16 through NCCL from 2.10 on (`HAS_NCCL_BF16_DATATYPE` in its `torch/csrc/cuda/nccl.h`). So torch's FSDP
    tutorial takes bfloat16 only where `nccl.version() >= (2, 10)`, and here it has to find that.
    """
    if devices.count() == 0:  # torch raises this, too, where it is built without NCCL
        raise AttributeError("there is no NCCL without devices. (Simulated devices: MINITORCH_DIST_DEVICES=4x80GB)")
    return (2, 10, 3)
