"""`torch.cuda.nccl`: the version. Tensors of simulated devices go over TCP where `nccl` is asked for."""

from __future__ import annotations

from minitorch_dist.tensors import devices


def version() -> tuple[int, int, int]:
    """The version of NCCL that `nccl` can stand for: 2.10 is the first with bfloat16, which scripts ask for."""
    if devices.count() == 0:  # torch raises this, too, where it is built without NCCL
        raise AttributeError(
            "there is no NCCL without devices. (Simulated devices: MINITORCH_DIST_DEVICES=4x80GB)"
        )
    return (2, 10, 3)
