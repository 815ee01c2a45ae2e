"""`RemoteModule`: a module that lives on another worker and is called as if it were here.

layer = RemoteModule("ps/cpu", nn.Linear, args=(20, 30))
y = layer(x)                                 # runs on ps; within a context, gradients flow back
opt = DistributedOptimizer(SGD, layer.remote_parameters(), lr=0.1)
"""

from __future__ import annotations

from typing import Any

from minitorch_dist import nn
from minitorch_dist.distributed import rpc
from minitorch_dist.nn.modules.module import Module

_NOT_HERE = (
    "register_buffer", "register_parameter", "add_module", "apply", "cuda", "cpu", "type", "float",
    "double", "half", "bfloat16", "to", "state_dict", "load_state_dict", "parameters",
    "named_parameters", "buffers", "named_buffers", "requires_grad_", "zero_grad", "children",
    "named_children", "modules", "named_modules", "register_backward_hook", "register_forward_pre_hook",
    "register_forward_hook", "register_full_backward_hook", "ipu", "xpu",
)  # fmt: skip


class RemoteModule(Module):
    """`remote_device` is "worker/device" or "rank:1/device"; the device is cpu unless it says more.

    `train` and `eval` reach the module where it is.
    """

    def __init__(
        self,
        remote_device: str,
        module_cls: type[Module],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        _module_interface_cls: Any = None,
    ) -> None:
        if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
            raise ValueError(
                f"Expect `module_cls` to be a subclass of nn.Module, but got {module_cls!r}"
            )
        self._prepare(remote_device)
        self.module_rref = rpc.rpc_sync(
            self.on, _make, (module_cls, args or (), kwargs or {}, self.device)
        )

    @staticmethod
    def init_from_module_rref(
        remote_device: str, module_rref: Any, _module_interface_cls: Any = None
    ) -> RemoteModule:
        """Another face of a module that is there already, of which `get_module_rref` gave a reference."""
        made = object.__new__(RemoteModule)
        made._prepare(remote_device)
        if module_rref.owner_name() != made.on:
            raise ValueError(
                f"the module is on {module_rref.owner_name()!r}, and `remote_device` says {made.on!r}"
            )
        made.module_rref = module_rref
        return made

    def _prepare(self, remote_device: str) -> None:
        Module.__init__(self)
        where, _, self.device = remote_device.partition("/")
        self.device = self.device or "cpu"
        to: str | int = int(where.removeprefix("rank:")) if where.startswith("rank:") else where
        self.on = rpc.rpc_sync(to, rpc.get_worker_info).name

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return rpc.rpc_sync(self.on, _forward, (self.module_rref, args, kwargs))

    def forward_async(self, *args: Any, **kwargs: Any) -> Any:
        """A Future of what forward returns."""
        return rpc.rpc_async(self.on, _forward, (self.module_rref, args, kwargs))

    def remote_parameters(self, recurse: bool = True) -> list[Any]:
        """References to the parameters, for a DistributedOptimizer."""
        found = rpc.rpc_sync(self.on, _parameters, (self.module_rref, recurse))
        return list(found)

    def get_module_rref(self) -> Any:
        return self.module_rref

    def train(self, mode: bool = True) -> RemoteModule:
        self.training = mode
        if "module_rref" in self.__dict__:
            rpc.rpc_sync(self.on, _train, (self.module_rref, mode))
        return self

    def extra_repr(self) -> str:
        return f"on={self.on!r}, device={self.device!r}"

    def __getattribute__(self, name: str) -> Any:
        if name in _NOT_HERE and "module_rref" in super().__getattribute__("__dict__"):
            raise ValueError(f"Method ``{name}`` not supported for RemoteModule")
        return super().__getattribute__(name)


@rpc.functions.register
def _make(kind: Any, args: Any, kwargs: Any, device: str) -> Any:
    return rpc.RRef(kind(*args, **kwargs).to(device))


@rpc.functions.register
def _forward(rref: Any, args: Any, kwargs: Any) -> Any:
    module = rref.local_value()
    rpc.functions.method(module, "forward")  # raises if a peer may not call it
    return module(*args, **kwargs)


@rpc.functions.register
def _parameters(rref: Any, recurse: bool) -> list[Any]:
    found = rpc.functions.method(rref.local_value(), "parameters")(recurse)
    return [rpc.RRef(parameter) for parameter in found]


@rpc.functions.register
def _train(rref: Any, mode: bool) -> None:
    rpc.functions.method(rref.local_value(), "train")(mode)


rpc.functions.register(rpc.get_worker_info)
for _kind in tuple(vars(nn).values()):
    if isinstance(_kind, type) and issubclass(_kind, Module):
        for _parent in _kind.__mro__:  # in which its methods are written
            if _parent.__module__.startswith("minitorch_dist."):
                rpc.functions.register(_parent)
