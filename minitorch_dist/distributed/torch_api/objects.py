"""Any Python object as an array of bytes, for the calls that send lists of objects.

They travel in the typed codec: numbers, texts, containers, arrays and tensors without pickle. A value
that has no form there is pickled, unless MINITORCH_DIST_ALLOW_PICKLE=0 forbids it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.distributed import codec
from minitorch_dist.distributed.codec import trust
from minitorch_dist.distributed.mail.receives import Array


def check_list(value: Any, name: str) -> None:
    """A list of objects that are sent, or of places that are filled."""
    if not isinstance(value, list):
        raise TypeError(f"{name} is a list of objects, but got {value!r} ({type(value).__name__})")


def to_array(value: Any) -> Array:
    """The object as an array of bytes."""
    return np.frombuffer(codec.pack(value, trust.of_peers()), np.uint8)


def to_bytes(value: Any) -> bytes:
    """The object as bytes."""
    return bytes(codec.pack(value, trust.of_peers()))


def from_bytes(octets: memoryview | bytes) -> Any:
    """The object again; only of bytes that came from a rank of this job."""
    return codec.unpack(octets, trust.of_peers())
