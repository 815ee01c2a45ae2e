"""The options of RPC, with torch's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeAlias

from minitorch_dist.distributed.rpc.constants import (
    DEFAULT_INIT_METHOD,
    DEFAULT_NUM_WORKER_THREADS,
    DEFAULT_RPC_TIMEOUT_SEC,
)
from minitorch_dist.tensors import devices

DeviceLike: TypeAlias = "int | str | devices.device"


class RpcBackendOptions:
    """The options of every backend."""

    def __init__(
        self,
        rpc_timeout: float | timedelta = DEFAULT_RPC_TIMEOUT_SEC,
        init_method: str = DEFAULT_INIT_METHOD,
    ) -> None:
        self.rpc_timeout = rpc_timeout
        self.init_method = init_method

    @property
    def rpc_timeout(self) -> float:
        """Seconds; 0 waits without end."""
        return self._timeout

    @rpc_timeout.setter
    def rpc_timeout(self, timeout: float | timedelta) -> None:
        self._timeout = seconds_of(timeout)


class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """The options of torch's backend.

    `num_worker_threads` functions run at once. A function that waits for an answer does not count, so calls
    may nest to any depth. `_transports` may name the transport, as `["file:///path"]`. By default, and where
    only torch's own are named (`["uv"]`), it is the one under which the world was launched, else tcp.
    """

    def __init__(
        self,
        *,
        num_worker_threads: int = DEFAULT_NUM_WORKER_THREADS,
        rpc_timeout: float | timedelta = DEFAULT_RPC_TIMEOUT_SEC,
        init_method: str = DEFAULT_INIT_METHOD,
        device_maps: Mapping[str, Mapping[DeviceLike, DeviceLike]] | None = None,
        devices: Sequence[DeviceLike] | None = None,
        _transports: Sequence[str] | None = None,
        _channels: Sequence[str] | None = None,
    ) -> None:
        super().__init__(rpc_timeout, init_method)
        if num_worker_threads < 1:
            raise ValueError(f"num_worker_threads must be positive, but got {num_worker_threads}")
        self.num_worker_threads = num_worker_threads
        if not isinstance(device_maps, (Mapping, type(None))):
            raise TypeError(
                f"`device_maps` must be a dict from workers to maps of devices, not {device_maps!r}"
            )
        self.device_maps: dict[str, dict[devices_.device, devices_.device]] = {}
        for name, device_map in (device_maps or {}).items():
            self.device_maps[name] = _to_map(device_map)
        self.devices = [_to_device(device) for device in devices or ()]
        self._transports, self._channels = _transports, _channels

    def set_device_map(self, to: str, device_map: Mapping[DeviceLike, DeviceLike]) -> None:
        """Name the devices of worker `to` on which tensors of our devices arrive. Calls add up."""
        new, known = _to_map(device_map), self.device_maps.setdefault(to, {})
        for ours, theirs in new.items():
            if ours in known and known[ours] != theirs:
                raise ValueError(
                    "`set_device_map` only supports 1-to-1 mapping, trying to map "
                    f"{ours} to {theirs} and {known[ours]}"
                )
        self.device_maps[to] = _to_map(dict(known) | dict(new))

    def set_devices(self, devices: Sequence[DeviceLike]) -> None:
        """Kept, and otherwise unused: there are no streams to wait for."""
        self.devices = [_to_device(device) for device in devices]

    def __repr__(self) -> str:
        return (
            f"<TensorPipeRpcBackendOptions, {self.num_worker_threads} threads, timeout "
            f"{self.rpc_timeout} s, {self.init_method}>"
        )


devices_ = devices  # an argument of torch's constructor has the module's name


def _to_device(device: DeviceLike) -> devices.device:
    found = devices_.device("cuda", device) if type(device) is int else devices_.device(device)
    if found.type == "cpu":
        raise ValueError("`devices` in RPC options are those of accelerators, but got cpu")
    return devices_.device(found.type, 0 if found.index is None else found.index)


def _to_map(
    device_map: Mapping[Any, Any],
) -> dict[devices.device, devices.device]:
    found: dict[devices.device, devices.device] = {}
    back: dict[devices.device, devices.device] = {}
    for ours, theirs in device_map.items():
        source, target = _to_device(ours), _to_device(theirs)
        if target in back:
            raise ValueError(
                f"`device_map` only supports 1-to-1 mapping, trying to map {source} and "
                f"{back[target]} to {target}"
            )
        found[source], back[target] = target, source
    return found


def seconds_of(timeout: Any) -> float:
    """A timeout in seconds, from a number or a timedelta."""
    if isinstance(timeout, timedelta):
        return timeout.total_seconds()
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"a timeout is a number of seconds or a timedelta, but got {timeout!r}")
    return float(timeout)
