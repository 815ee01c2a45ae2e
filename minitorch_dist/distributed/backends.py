"""Names of backends, torch's and ours, and the transport that each of them means.

A backend is a transport's scheme (`tcp`, `file`, `queue`, `mqtt`, …) or a whole address
(`mqtt://broker`). `gloo` is a name for `tcp`, and `nccl` too, where devices are simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from minitorch_dist.inventory.not_offered import tells_what_is_gone
from transports import registry
from transports.contract import Transport


@tells_what_is_gone
class Backend(str):
    """A backend's name in lower case. `Backend("GLOO") == Backend.GLOO == "gloo"`."""

    __slots__ = ()

    UNDEFINED: ClassVar[str] = "undefined"
    GLOO: ClassVar[str] = "gloo"
    NCCL: ClassVar[str] = "nccl"
    UCC: ClassVar[str] = "ucc"
    MPI: ClassVar[str] = "mpi"
    XCCL: ClassVar[str] = "xccl"
    FAKE: ClassVar[str] = "fake"
    TCP: ClassVar[str] = "tcp"
    FILE: ClassVar[str] = "file"
    QUEUE: ClassVar[str] = "queue"
    MQTT: ClassVar[str] = "mqtt"
    SIM: ClassVar[str] = "sim"

    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": "gloo", "cuda": "nccl"}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name if "://" in name else name.lower())


def by_device(backend: str) -> dict[str, str]:
    """`cpu:gloo,cuda:nccl`, by kind of device; nothing where it is one name or address."""
    if "://" in backend or ":" not in backend:
        return {}
    found: dict[str, str] = {}
    for pair in backend.lower().split(","):
        device, _, name = pair.partition(":")
        if not device or not name or ":" in name or device in found:
            raise ValueError(
                f"Invalid device:backend pairing: {pair} in {backend}. Backends by device have the form "
                "'<device_type1>:<backend1>,<device_type2>:<backend2>', e.g. 'cpu:gloo,cuda:nccl'"
            )
        found[device] = name
    return found


has_devices: list[Callable[[], bool]] = []  # the floor of tensors says whether there are some


def is_nccl_available() -> bool:
    """Whether `nccl` may be asked for: it moves tensors of simulated devices, over TCP."""
    return any(there() for there in has_devices)


def transport_for(backend: str, default: str) -> tuple[Callable[..., Transport], str]:
    """The class of the transport, and its address. Errors are torch's."""
    chosen = by_device(backend)
    name = chosen.get("cpu") or next(iter(chosen.values()), backend)
    if name == Backend.UNDEFINED:
        name = default
    scheme = registry.scheme_of(name)
    if scheme in (Backend.NCCL, Backend.UCC, Backend.XCCL, Backend.FAKE):
        if scheme != Backend.NCCL or not is_nccl_available():
            raise RuntimeError(f"Distributed package doesn't have {scheme.upper()} built in")
        scheme = name = Backend.TCP
    if scheme not in registry.BUILT_IN and scheme not in registry.known():
        raise AssertionError(f"Unknown backend type {backend}")
    return registry.find(name), name if "://" in name else ""
