"""Modules that hold modules: one after the other, in a list, in a dictionary."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import Any, Self, overload

from minitorch_dist.nn.modules.module import Module, indented
from minitorch_dist.tensors.tensor import Tensor


class _Numbered(Module):
    """Children that are counted by position. Their names are their numbers unless given."""

    _sliced: Any  # the children of a slice, as a module of the same kind

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: Any) -> Any:
        return self._sliced(index) if isinstance(index, slice) else self._modules[self._name_at(index)]

    def _name_at(self, index: Any) -> str:
        number = operator.index(index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"index {number} is out of range")
        return list(self._modules)[number]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name_at(index)]
        for name in names:
            delattr(self, name)
        self._renumber(list(self))

    def _renumber(self, modules: list[Any]) -> None:
        self.__dict__["_modules"] = {str(number): module for number, module in enumerate(modules)}

    def append(self, module: Module) -> Self:
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Take out and return one child, or the children of a slice."""
        taken = self[key]
        del self[key]
        return taken


class Sequential(_Numbered):
    """Calls its children in order, each with the result of the one before.

    Args:
        *args: The children, or one OrderedDict that names them.

    Example:
        >>> nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))(torch.ones(2, 3)).shape
        torch.Size([2, 1])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for number, module in enumerate(args):
                self.add_module(str(number), module)

    def forward(self, input: Any) -> Tensor:
        for module in self._modules.values():
            input = module(input)
        return input  # type: ignore[no-any-return]

    def _sliced(self, index: slice) -> Self:
        return type(self)(OrderedDict(list(self._modules.items())[index]))

    def insert(self, index: int, module: Module) -> Self:
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        for module in list(sequential):
            self.append(module)
        return self


class ModuleList(_Numbered):
    """A list whose modules are registered. It has no forward: you loop."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _sliced(self, index: slice) -> Self:
        return type(self)(list(self)[index])

    def insert(self, index: int, module: Module) -> None:
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules: Iterable[Module]) -> Self:
        for module in list(modules):
            self.append(module)
        return self

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        """As other modules, with equal neighbours written once: `(0-3): 4 x Linear(…)`."""
        runs: list[tuple[int, int, str]] = []
        for number, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], number, text)
            else:
                runs.append((number, number, text))
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(map(indented, lines)) + "\n)"


class ModuleDict(Module):
    """A dictionary whose modules are registered, in the order they were put in."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]  # type: ignore[no-any-return]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        self._modules.clear()

    def pop(self, key: str) -> Any:
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        return self._modules.keys()

    def items(self) -> ItemsView[str, Any]:
        return self._modules.items()

    def values(self) -> ValuesView[Any]:
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Put in the entries of a mapping or of an iterable of pairs."""
        for key, module in dict(modules).items():
            self[key] = module
