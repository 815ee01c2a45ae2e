"""Names of torch that are here so that a program's imports go on, and that say so when they are called."""

from __future__ import annotations

from collections.abc import Callable
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
