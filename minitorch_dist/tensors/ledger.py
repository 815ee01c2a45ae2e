"""Live bytes per simulated device, by storage and not by name.

An array is entered when a tensor on a simulated device first owns it and is crossed out when
numpy frees it, so that views count once and local variables count too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import devices


def track(array: np.ndarray[Any, Any], device: devices.device) -> None:
    """Enter `array` (an owner of memory) on `device`, until it is freed."""
