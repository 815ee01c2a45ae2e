"""Find the operation whose gradient raised, or became nan: `detect_anomaly`."""

from __future__ import annotations

import warnings

from minitorch_dist.tensors import anomalies


class set_detect_anomaly:
    """Switch it on or off at once; as a context manager, until the end of the block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = anomalies.anomaly, anomalies.check_nan
        anomalies.set_anomaly(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        anomalies.set_anomaly(*self._before)


class detect_anomaly:
    """Inside, each operation remembers the line that recorded it, and gradients are checked for nan.

    A backward pass that fails then warns with that line's traceback before it raises. Slow.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only "
            "be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = anomalies.anomaly, anomalies.check_nan
        anomalies.set_anomaly(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        anomalies.set_anomaly(*self._before)


def is_anomaly_enabled() -> bool:
    return anomalies.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    return anomalies.check_nan
