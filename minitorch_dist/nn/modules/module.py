"""The base class of everything that has parameters.

    class Net(Module):
        def __init__(self):
            super().__init__()
            self.fc = Linear(2, 3)          # registered by being assigned

        def forward(self, x):
            return self.fc(x).relu()

It is built up in four files: `registry` (what a module consists of), `tree` (the modules below it),
`hooks` (calling it) and `state_dict` (saving and loading). Here is what is done to all of it at once:
moving, converting, switching, printing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from minitorch_dist.inventory import no_compiler, not_offered
from minitorch_dist.inventory.not_offered import tells_what_is_gone
from minitorch_dist.nn import init
from minitorch_dist.nn.modules.hooks import (
    Hooked,
    register_module_forward_hook as register_module_forward_hook,
    register_module_forward_pre_hook as register_module_forward_pre_hook,
)
from minitorch_dist.nn.modules.state_dict import StateDictModule
from minitorch_dist.tensors import devices, dtypes, ledger
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.ops.elementwise import copying
from minitorch_dist.tensors.tensor import Tensor

Convert = Callable[[Any], Any]


@tells_what_is_gone
class Module(Hooked, StateDictModule):
    """Base class for all layers and networks: override `__init__` and `forward`.

    Example:
        >>> class Twice(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.layer = nn.Linear(2, 2)
        ...     def forward(self, x):
        ...         return self.layer(self.layer(x))
        >>> [name for name, _ in Twice().named_parameters()]
        ['layer.weight', 'layer.bias']
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # -------------------------------------------------------------------- applied to the whole tree

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call `fn` with every module of the tree, children first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Convert, recurse: bool = True) -> Self:
        """Convert every tensor. Parameters and their gradients remain the same objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for param in self._parameters.values():
            if param is not None:
                grad = param._grad
                with grad_modes.no_grad():
                    _exchange(param, fn(param), param.held_as)
                    if grad is not None:
                        _exchange(grad, fn(grad), "gradient")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode here and below: dropout drops, batch norm looks at the batch."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Whether the parameters are to be trained."""
        for param in self.parameters():
            param.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients; or write zeros into them, where somebody else looks at them too."""
        for param in self.parameters():
            if param._grad is not None:
                if set_to_none:
                    param._grad = None
                else:
                    init.zeros_(param._grad)

    # -------------------------------------------------------------------------- types and devices

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """`to(device)`, `to(dtype)`, `to(device, dtype)`, `to(tensor)`: in place, unlike a tensor's.

        The dtype applies to floating tensors only; integers keep theirs.
        """
        device, dtype = _parse_to(*args, **kwargs)

        def convert(t: Tensor) -> Any:
            if t.is_meta and device not in (None, devices.META):
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            return t.to(
                device=t.device if device is None else device,
                dtype=dtype if dtype is not None and t.is_floating_point() else t.dtype,
            )

        return self._apply(convert)

    def type(self, dst_type: dtypes.dtype) -> Self:
        return self._apply(lambda t: t.to(dtype=dst_type))

    def _to_floating(self, dtype: dtypes.dtype) -> Self:
        return self._apply(lambda t: t.to(dtype=dtype) if t.is_floating_point() else t)

    def half(self) -> Self:
        return self._to_floating(dtypes.float16)

    def bfloat16(self) -> Self:
        return self._to_floating(dtypes.bfloat16)

    def float(self) -> Self:
        return self._to_floating(dtypes.float32)

    def double(self) -> Self:
        return self._to_floating(dtypes.float64)

    def cpu(self) -> Self:
        return self._apply(lambda t: t.to(device=devices.CPU))

    def cuda(self, device: int | str | devices.device | None = None) -> Self:
        target = devices.resolve("cuda" if device is None else devices.device(device))
        return self._apply(lambda t: t.to(device=target))

    def to_empty(self, *, device: int | str | devices.device | None, recurse: bool = True) -> Self:
        """Move without the values: every tensor becomes uninitialised memory on `device`."""
        target = devices.resolve(device)
        return self._apply(lambda t: creation.empty_like(t, device=target), recurse)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Change nothing, as `minitorch_dist.compile` does: there is no compiler."""
        no_compiler.compile(self, *args, **kwargs)

    # ------------------------------------------------------------------------- copying and printing

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        Module.__init__(self)  # tables that an older version did not have
        self.__dict__.update(state)

    def extra_repr(self) -> str:
        """The text between the parentheses; override it to show a layer's settings."""
        return ""

    def __repr__(self) -> str:
        own = self.extra_repr().split("\n") if self.extra_repr() else []
        below = [f"({name}): {indented(repr(m))}" for name, m in self._modules.items()]
        lines = own + below
        if (len(own) == 1 and not below) or not lines:
            return f"{self._get_name()}({''.join(own)})"
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"


def indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _exchange(tensor: TensorBase, new: TensorBase, held_as: str) -> None:
    """Let `tensor` look at the memory of `new`, remaining the object it is."""
    if new is not tensor:
        copying.set_data(tensor, new)
        if new.storage.device is not devices.CPU:
            ledger.retag(new.array, new.storage.device, held_as)


def _parse_to(*args: Any, **kwargs: Any) -> tuple[devices.device | None, dtypes.dtype | None]:
    """The arguments of `Module.to` as a device and a dtype, either of which may be None."""
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    tensor = kwargs.pop("tensor", None)
    for name in kwargs:
        if name not in ("non_blocking", "copy", "memory_format"):
            raise TypeError(f"to() got an unexpected keyword argument '{name}'")
    for arg in args:
        if isinstance(arg, TensorBase):
            tensor = arg
        elif isinstance(arg, dtypes.dtype):
            dtype = arg
        elif isinstance(arg, (str, int, devices.device)) and not isinstance(arg, bool):
            device = arg
        elif arg is not None and not isinstance(arg, bool):  # a bool is non_blocking
            raise TypeError(f"to() received an invalid argument of type {type(arg).__name__}")
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    if dtype is not None and not dtype.is_floating_point:
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
    return None if device is None else devices.resolve(device), dtype


not_offered.guard(globals())
