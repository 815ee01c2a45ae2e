"""Names of torch that are here so that a program's imports go on, and that say so when they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ContextDecorator
from types import ModuleType
from typing import Any, NoReturn


def absent(module: str, names: str, instead: str) -> Callable[[str], Any]:
    """A module's `__getattr__`, which finds these names: classes that raise when they are called.

    They are classes, so that a program may subclass them and ask `isinstance`, which says no.
    """
    listed = frozenset(names.split())
    made: dict[str, type] = {}

    def find(name: str) -> Any:
        if name not in listed:
            raise AttributeError(f"module 'minitorch_dist.{module}' has no attribute {name!r}")
        if name not in made:

            def refuse(cls: type, *args: Any, **options: Any) -> NoReturn:
                raise NotImplementedError(f"{module}.{name} is not offered. {instead}")

            body = {
                "__new__": refuse,
                "__module__": f"minitorch_dist.{module}",
                "is_offered": False,
            }
            made[name] = type(name, (), body)
        return made[name]

    return find


class CompilerSettings(ModuleType):
    """A module of settings that direct nothing here: a program may set any, and reads back what it has set."""

    groups = ("aot_inductor", "cpp", "cuda", "halide", "rocm", "trace", "triton")

    def __getattr__(self, name: str) -> Any:
        if name in self.groups:
            inner = CompilerSettings(f"{self.__name__}.{name}")
            setattr(self, name, inner)
            return inner
        raise AttributeError(
            f"{self.__name__}.{name} was not set: nothing is compiled here, so the settings of a compiler have no defaults"
        )

    def patch(self, changes: Any = None, value: Any = None, **more: Any) -> _Patch:
        """A block, or a decorator, in which these are set: `patch(name=…)`, `patch({"name": …})` or `patch("name", …)`."""
        given = changes if isinstance(changes, Mapping) else {} if changes is None else {changes: value}  # fmt: skip
        return _Patch(self, {**given, **more})


class _Patch(ContextDecorator):
    def __init__(self, settings: CompilerSettings, changes: dict[str, Any]) -> None:
        self.settings, self.changes = settings, changes

    def __enter__(self) -> None:
        self.before = dict(vars(self.settings))
        vars(self.settings).update(self.changes)

    def __exit__(self, *_: object) -> None:
        for name in self.changes:
            vars(self.settings).pop(name, None)
            if name in self.before:
                setattr(self.settings, name, self.before[name])
