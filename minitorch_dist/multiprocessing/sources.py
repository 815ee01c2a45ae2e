"""Functions for other processes: by name where they can be imported, else by their source.

A function that is typed into a notebook or at the prompt has no module that another process could import.
Its source goes over instead, with what it names: modules by name, functions and classes by source, the rest
pickled. There they stand in `__main__` as they do here, so that their instances can be pickled to and fro.
"""

from __future__ import annotations

import ast
import inspect
import io
import linecache
import pickle
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any


def portable(fn: Callable[..., Any], args: Any = (), else_use: str = "transport='queue://'") -> Any:
    """`fn` in a form that becomes `fn` in the process that unpickles it; `args` travel behind it.

    A function that has no such form is an error, which says why, and to use `else_use`."""
    if is_typed(fn):
        typed = Typed(fn.__name__)
        typed.add(fn)
        typed.note_classes(args)
        return typed
    try:
        pickle.dumps(fn)
    except Exception as error:
        raise TypeError(
            f"{fn!r} cannot be sent to another process ({error}). Define it at the top level of "
            f"a module (a .py file), or use {else_use}, which sends nothing"
        ) from error
    return fn


def is_typed(what: Any) -> bool:
    """Whether it was typed: it lives in a __main__ that has no file to be run again."""
    return (
        isinstance(what, FunctionType | type)
        and what.__module__ == "__main__"
        and not hasattr(sys.modules["__main__"], "__file__")
    )


class Typed:
    """A function that was typed, and all that it uses, by their names."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.texts: dict[str, str] = {}  # of functions and classes
        self.modules: dict[str, str] = {}
        self.values: dict[str, bytes] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.name, self.texts, self.modules, self.values)

    def __repr__(self) -> str:
        return f"<Typed {self.name}, with {', '.join([*self.texts, *self.modules, *self.values])}>"

    def add(self, what: Any) -> None:
        """A function or class, and what it names."""
        if isinstance(what, FunctionType):
            _demand_sendable(what)
        self.texts[what.__name__] = _source(what)
        for name in _names(what) - {*self.texts, *self.modules, *self.values}:
            here = vars(sys.modules["__main__"])
            if name in here:
                self._add_named(name, here[name], what.__name__)

    def _add_named(self, name: str, value: Any, user: str) -> None:
        if isinstance(value, ModuleType):
            self.modules[name] = value.__name__
        elif is_typed(value) and value.__name__ == name:
            self.add(value)
        else:
            try:
                self.values[name] = pickle.dumps(value)
            except Exception as error:
                raise TypeError(
                    f"{user} uses {name}, which cannot be sent to another process: {error}"
                ) from error
            self.note_classes(value)

    def note_classes(self, value: Any) -> None:
        """The typed classes and functions that pickling `value` would name."""
        typed = self

        class Look(pickle.Pickler):
            def reducer_override(self, met: Any) -> Any:
                if is_typed(met) and met.__name__ not in typed.texts:
                    typed.add(met)
                return NotImplemented

        with suppress(pickle.PicklingError, AttributeError, RuntimeError):  # its sender will say so
            Look(io.BytesIO()).dump(value)


def _demand_sendable(fn: FunctionType) -> None:
    if fn.__name__ == "<lambda>":
        raise TypeError("a lambda cannot be sent to another process; give it a name: def work(): …")
    if fn.__closure__:
        raise TypeError(
            f"{fn.__qualname__} uses variables of the function around it, and cannot be sent to "
            "another process; pass them as args"
        )


def _names(what: Any) -> set[str]:
    """The names that its text mentions."""
    nodes = ast.walk(ast.parse(_source(what)))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _source(what: Any) -> str:
    try:
        return textwrap.dedent(
            inspect.getsource(what) if isinstance(what, FunctionType) else _class_source(what)
        )
    except (OSError, TypeError) as error:
        raise TypeError(
            f"the source of {what.__qualname__} is not to be had ({error}); put it into a module"
        ) from error


def _class_source(kind: type) -> str:
    """A typed class has no file; but its methods know the cell that they were typed in."""
    for method in vars(kind).values():
        if isinstance(method, FunctionType) and method.__module__ == kind.__module__:
            text = "".join(linecache.getlines(method.__code__.co_filename))
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
                    return ast.get_source_segment(text, node) or ""
    raise TypeError("a class without methods that was typed here")


def _made(
    name: str, texts: dict[str, str], modules: dict[str, str], values: dict[str, bytes]
) -> Any:
    """In the other process: the function again. A definition that needs another comes after it."""
    there = vars(sys.modules["__main__"])
    there |= {as_name: import_module(module) for as_name, module in modules.items()}
    left: dict[str, str | bytes] = {**texts, **values}
    while left:
        failures = [_make(each, left.pop(each), there, left) for each in list(left)]
        if all(failures):
            error = failures[0]
            assert error is not None, "all failed"
            raise error
    return there[name]


def _make(
    name: str, what: str | bytes, there: dict[str, Any], left: dict[str, str | bytes]
) -> Exception | None:
    try:
        if isinstance(what, bytes):
            there[name] = pickle.loads(what)
        else:
            exec(compile(what, f"<{name}>", "exec"), there)
    except (NameError, AttributeError) as error:
        left[name] = what
        return error
    return None
