"""Functions for other processes: by name where they can be imported, else by what they are made of.

A lambda, a function made in another one, and a function typed into a notebook or at the prompt cannot be imported by name in
another process. Their code goes over instead, with what it names: modules by name, typed classes by their source, and the
rest pickled. Typed classes stand in `__main__` there as they do here, so that their instances can be pickled to and fro.
"""

from __future__ import annotations

import ast
import io
import linecache
import marshal
import pickle
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from multiprocessing.reduction import ForkingPickler
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any


def packed(what: Any, else_use: str = "transport='queue://'") -> bytes:
    """Anything, such as a function and its arguments, for `pickle.loads` in another process; TypeError says why not."""
    written = io.BytesIO()
    try:
        _Sender(written, pickle.HIGHEST_PROTOCOL).dump(what)
    except Exception as error:
        raise TypeError(
            f"{what!r:.200} cannot be sent to another process ({error}). Define it at the top level of "
            f"a module (a .py file), or use {else_use}, which sends nothing"
        ) from error
    return written.getvalue()


class Portable:
    """It is `what` again in the process that unpickles it. It is packed while that process is started: only then may queues
    and locks of `multiprocessing` travel."""

    def __init__(self, what: Any, else_use: str) -> None:
        self.what, self._else_use = what, else_use

    def __reduce__(self) -> tuple[Any, ...]:
        return pickle.loads, (packed(self.what, self._else_use),)


class _Sender(ForkingPickler):
    def reducer_override(self, met: Any) -> Any:
        if isinstance(met, ModuleType):
            return import_module, (met.__name__,)
        if isinstance(met, FunctionType) and (_is_typed(met) or not _is_importable(met)):
            return _of_function(met)
        return _of_class(met) if isinstance(met, type) and _is_typed(met) else NotImplemented


def _is_typed(what: Any) -> bool:
    """Whether it lives in a __main__ that has no file to be run again."""
    return what.__module__ == "__main__" and not hasattr(sys.modules["__main__"], "__file__")


def _is_importable(function: FunctionType) -> bool:
    found: Any = import_module(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _of_function(met: FunctionType) -> tuple[Any, ...]:
    contents = [cell.cell_contents for cell in met.__closure__ or ()]
    named = _values(names_of(met.__code__)) if _is_typed(met) else {}
    state = met.__name__, met.__qualname__, met.__defaults__, met.__kwdefaults__, contents, named
    shell = marshal.dumps(met.__code__), met.__module__, len(contents)
    return _shell, shell, state, None, None, _fill


def _of_class(met: type) -> tuple[Any, ...]:
    """Its source. The names that it needs to be defined go before it, and those of its methods come after it."""
    text = _source(met)
    whole = compile(text, f"<{met.__name__}>", "exec")
    body = [code for code in whole.co_consts if isinstance(code, CodeType)]
    first = _values([*whole.co_names, *(name for code in body for name in code.co_names)])
    first.pop(met.__name__, None)
    return _defined, (met.__name__, text, first), _values(names_of(whole)), None, None, _know


def names_of(code: CodeType) -> Iterator[str]:
    """The names of globals and attributes in a function, and in those within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_of(constant)


def _values(names: Any) -> dict[str, Any]:
    there = vars(sys.modules["__main__"])
    return {name: there[name] for name in sorted(set(names)) if name in there}


def _source(kind: type) -> str:
    """A typed class has no file; but its methods know the cell that they were typed in."""
    for method in vars(kind).values():
        if isinstance(method, FunctionType) and method.__module__ == kind.__module__:
            text = "".join(linecache.getlines(method.__code__.co_filename))
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
                    lines = text.splitlines(keepends=True)
                    begin = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                    return "".join(lines[begin - 1 : node.end_lineno])
    raise TypeError(
        f"the source of {kind.__qualname__}, a class that was typed here, is not to be had; put it into a module"
    )


# ------------------------------------------------------------------------------ in the other process


def _shell(code: bytes, module: str, cells: int) -> FunctionType:
    """The function, whose closure is still empty: what is in there may name the function itself."""
    closure = tuple(CellType() for _ in range(cells))
    return FunctionType(marshal.loads(code), vars(import_module(module)), None, None, closure)


def _fill(function: FunctionType, state: tuple[Any, ...]) -> None:
    name, function.__qualname__, function.__defaults__, function.__kwdefaults__, contents, named = state
    function.__name__ = name
    for cell, content in zip(function.__closure__ or (), contents, strict=True):
        cell.cell_contents = content
    _know(function, named)


def _defined(name: str, text: str, first: dict[str, Any]) -> Callable[..., Any]:
    there = vars(sys.modules["__main__"])
    there.update(first)
    exec(compile(text, f"<{name}>", "exec"), there)
    return there[name]  # type: ignore[no-any-return]


def _know(made: Any, named: dict[str, Any]) -> None:
    vars(sys.modules["__main__"]).update(named)
