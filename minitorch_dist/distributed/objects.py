"""Any Python object as bytes, for the calls that send lists of objects.

This is pickle, which runs what it reads: every real transport has proved that its peer holds the
job's key before a byte of this arrives, and MINITORCH_DIST_ALLOW_PICKLE=0 turns it off altogether.
Tensors and arrays are sent without it.
"""

from __future__ import annotations

import os
import pickle
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.distributed.receives import Array

VARIABLE: Final = "MINITORCH_DIST_ALLOW_PICKLE"


def demand_pickle() -> None:
    if os.environ.get(VARIABLE, "1").lower() in ("0", "false", "no"):
        raise DistError(
            f"objects are sent by pickle, and {VARIABLE}={os.environ[VARIABLE]} forbids that. Send "
            "tensors, or unset it"
        )


def to_array(value: Any) -> Array:
    """The object as an array of bytes."""
    demand_pickle()
    return np.frombuffer(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL), np.uint8)


def from_bytes(octets: memoryview | bytes) -> Any:
    """The object again; only of bytes that came from a rank of this job."""
    demand_pickle()
    return pickle.loads(octets)
