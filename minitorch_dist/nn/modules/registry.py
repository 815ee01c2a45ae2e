"""The parts of one module: parameters, buffers and submodules, each under a name.

Assigning is registering: `self.fc = Linear(2, 3)` enters the layer in `_modules`, a Parameter goes
to `_parameters`, and order of assignment is order of iteration. Reading such a name falls through
to `__getattr__`, which looks in the three tables.
"""

from __future__ import annotations

from typing import Any

from minitorch_dist.inventory.not_offered import no_attribute
from minitorch_dist.nn.parameter import Buffer, Parameter
from minitorch_dist.tensors.tensor import Tensor


class Registry:
    """The tables of a module."""

    training: bool
    _version: int = 1  # of the layout of this class's state_dict
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]

    def __init__(self) -> None:
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _modules={})

    # --------------------------------------------------------------------- attributes of a module

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        for table, kind in _TABLES.items():
            if isinstance(value, kind):
                if table not in own:
                    raise AttributeError(f"cannot assign {name!r} before Module.__init__() call")
                self._forget(name, table)
                if table == "_parameters":
                    self.register_parameter(name, value)
                elif table == "_buffers":
                    self.register_buffer(name, value, value.persistent)
                else:
                    own[table][name] = value
                return
            if name in own.get(table, ()):  # it keeps its meaning
                if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                    raise TypeError(f"cannot assign a {type(value).__name__} to {name!r}, which is in {table}")
                own[table][name] = value
                return
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_parameters" in own:
            for table in (own["_parameters"], own["_buffers"], own["_modules"]):
                if name in table:
                    return table[name]
        raise no_attribute(self, name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__}
        names.update(self._parameters, self._buffers, self._modules)
        return sorted(name for name in names if not name[0].isdigit())

    def _forget(self, name: str, keep: str) -> None:
        """Take `name` out of every table except `keep`: it gets a new meaning."""
        for table in ("_parameters", "_buffers", "_modules"):
            if table != keep:
                self.__dict__[table].pop(name, None)
        if keep != "_buffers":
            self._non_persistent_buffers_set.discard(name)
        self.__dict__.pop(name, None)

    # --------------------------------------------------------------------------------- registering

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Enter `param` under `name`; None reserves the name without having a parameter."""
        self._check_name(name, "parameter", "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"parameter {name!r} must be an nn.Parameter or None, and not a {type(param).__name__}")
        if param is not None and param._grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                "the value in the forward() method."
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Enter a tensor that is moved and saved with the module but not trained.

        A buffer that is not `persistent` is left out of the state_dict.
        """
        self._check_name(name, "buffer", "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"buffer {name!r} must be a Tensor or None, and not a {type(tensor).__name__}")
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_module(self, name: str, module: Registry | None) -> None:
        """Enter `module` as the child called `name`."""
        if module is not None and not isinstance(module, Registry):
            raise TypeError(f"{name!r} must be a Module, and not a {type(module).__name__}")
        self._check_name(name, "module", "_modules")
        self._modules[name] = module

    add_module = register_module

    def _check_name(self, name: str, what: str, table: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain ".": {name}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if name not in self.__dict__[table] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def _get_name(self) -> str:
        return type(self).__name__


_TABLES: dict[str, Any] = {
    "_parameters": Parameter,
    "_modules": Registry,
    "_buffers": Buffer,
}  # what is registered by being assigned
