"""Any Python object as an array of bytes, for the calls that send lists of objects.

They travel in the typed codec: numbers, texts, containers, arrays and tensors without pickle. What
the codec has no form for is pickled, unless MINITORCH_DIST_ALLOW_PICKLE=0 forbids it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.distributed import codec
from minitorch_dist.distributed.mail.receives import Array


def to_array(value: Any) -> Array:
    """The object as an array of bytes."""
    return np.frombuffer(codec.pack(value), np.uint8)


def from_bytes(octets: memoryview | bytes) -> Any:
    """The object again; only of bytes that came from a rank of this job."""
    return codec.unpack(octets)
