"""Whether there is CUDA: as much as there are simulated devices."""

from __future__ import annotations

from contextvars import ContextVar

from minitorch_dist.tensors import devices


class _Matmul:
    """`backends.cuda.matmul`: products are computed in their full type whatever is set here."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = _Matmul()


def is_built() -> bool:
    return devices.count() > 0


KERNELS = ("flash", "mem_efficient", "math", "cudnn")
"""The ways in which torch computes attention. Here there is one, so these are flags and nothing more."""
_kernels: ContextVar[frozenset[str]] = ContextVar("attention_kernels", default=frozenset(KERNELS))


def allowed_kernels() -> frozenset[str]:
    """The ways whose flags are set, in this rank."""
    return _kernels.get()


def allow_kernels(names: frozenset[str]) -> None:
    _kernels.set(names)


def _allow(name: str, enabled: bool) -> None:
    allow_kernels(allowed_kernels() | {name} if enabled else allowed_kernels() - {name})


def flash_sdp_enabled() -> bool:
    return "flash" in allowed_kernels()


def enable_flash_sdp(enabled: bool) -> None:
    _allow("flash", enabled)


def mem_efficient_sdp_enabled() -> bool:
    return "mem_efficient" in allowed_kernels()


def enable_mem_efficient_sdp(enabled: bool) -> None:
    _allow("mem_efficient", enabled)


def math_sdp_enabled() -> bool:
    return "math" in allowed_kernels()


def enable_math_sdp(enabled: bool) -> None:
    _allow("math", enabled)


def cudnn_sdp_enabled() -> bool:
    return "cudnn" in allowed_kernels()


def enable_cudnn_sdp(enabled: bool) -> None:
    _allow("cudnn", enabled)
