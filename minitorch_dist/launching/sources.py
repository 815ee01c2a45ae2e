"""Functions for other processes: by name where they can be imported, else by their source.

What is typed into a notebook or at the prompt has no module that another process could import. Its
source goes over instead, with what it names: modules by name, functions by source, the rest pickled.
"""

from __future__ import annotations

import inspect
import pickle
import sys
import textwrap
from collections.abc import Callable
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple


class Source(NamedTuple):
    """A function as text, and what it names."""

    text: str
    modules: dict[str, str]
    values: dict[str, bytes]


class Program(NamedTuple):
    """A function and all functions that it uses, by their names."""

    name: str
    functions: dict[str, Source]


def packed(fn: Callable[..., Any]) -> Any:
    """Something picklable of which `unpacked` makes the function again."""
    if not (isinstance(fn, FunctionType) and _is_homeless(fn)):
        try:
            pickle.dumps(fn)
        except Exception as error:
            raise TypeError(
                f"{fn!r} cannot be sent to another process ({error}). Define it at the top level of "
                "a module, or launch threads with transport='queue://'"
            ) from error
        return fn
    program = Program(fn.__name__, {})
    _add(fn, program.functions)
    return program


def _is_homeless(fn: FunctionType) -> bool:
    """Whether it lives in a __main__ that has no file to be run again."""
    return fn.__module__ == "__main__" and not hasattr(sys.modules["__main__"], "__file__")


def _add(fn: FunctionType, known: dict[str, Source]) -> None:
    if fn.__closure__:
        raise TypeError(
            f"{fn.__qualname__} uses variables of the function around it, and cannot be sent to "
            "another process; pass them as args"
        )
    try:
        text = textwrap.dedent(inspect.getsource(fn))
    except OSError as error:
        raise TypeError(f"the source of {fn.__qualname__} is not to be had") from error
    made = known[fn.__name__] = Source(text, {}, {})
    for name in _names(fn.__code__):
        value = fn.__globals__.get(name, made)
        if value is made or name in known:
            continue
        if isinstance(value, ModuleType):
            made.modules[name] = value.__name__
        elif isinstance(value, FunctionType) and _is_homeless(value):
            _add(value, known)
        else:
            try:
                made.values[name] = pickle.dumps(value)
            except Exception as error:
                raise TypeError(
                    f"{fn.__name__} uses {name}, which cannot be sent to another process: {error}"
                ) from error


def _names(code: CodeType) -> set[str]:
    inner = [_names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*inner)


def unpacked(packed: Any) -> Any:
    """The function again."""
    if not isinstance(packed, Program):
        return packed
    there: dict[str, Any] = {"__name__": "__main__"}
    for source in packed.functions.values():
        there |= {name: import_module(module) for name, module in source.modules.items()}
        there |= {name: pickle.loads(value) for name, value in source.values.items()}
    for name, source in packed.functions.items():
        exec(compile(source.text, f"<{name}>", "exec"), there)
    return there[packed.name]
