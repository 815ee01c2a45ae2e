"""Whether a program is written for PyTorch itself: then its ranks need what `minitorch_dist.pytorch` gives them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import metadata
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

NAME = "torch"
OUR_PACKAGES = ("minitorch_dist", "transports", "mtd")
_ONLY_WITH_TORCH = {NAME, "transformers"}  # the latter installs without torch, and trains with it alone


@cache
def needs_torch(module: str) -> bool:
    """Whether a module of this name is the real torch, or of an installed package that cannot do without it."""
    top = module.partition(".")[0]
    if top in _ONLY_WITH_TORCH:
        return True
    if top in sys.stdlib_module_names or top in OUR_PACKAGES:
        return False
    try:
        demands = metadata.requires(top) or ()
    except metadata.PackageNotFoundError:
        return False
    return any(re.match(r"torch(?![\w.-])", each) and "extra ==" not in each for each in demands)


def uses_torch(fn: Callable[..., Any]) -> bool:
    """Whether its code, or that of a function which it calls by name, names the real torch. A function that has the
    attribute `uses_torch` says so itself: a script's does, as its file has been read."""
    seen: set[int] = set()
    waiting: list[Any] = [fn]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        said: bool | None = getattr(one, "uses_torch", None)
        if said or _is_torchs(one):
            return True
        if said is None and not _is_ours(one):
            waiting.extend(_parts(one))
    return False


def _is_torchs(thing: Any) -> bool:
    name = thing.__name__ if isinstance(thing, ModuleType) else getattr(thing, "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] in _ONLY_WITH_TORCH


def _is_ours(thing: Any) -> bool:
    """A function of the library or of an installed one needs no look: it uses what it uses with our tensors too."""
    name = getattr(thing, "__module__", None) or ""
    return name.partition(".")[0] in OUR_PACKAGES


def _parts(thing: Any) -> Iterator[Any]:
    """The parts of a function, a method, a class or a `partial`."""
    if isinstance(thing, partial):
        yield thing.func
        yield from (each for each in thing.args if callable(each))
    elif isinstance(thing, MethodType):
        yield thing.__func__
    elif isinstance(thing, type):
        yield from thing.__mro__[1:-1]
        yield from (each for each in vars(thing).values() if isinstance(each, FunctionType))
    elif isinstance(thing, FunctionType):
        yield from _named_by(thing)


def _named_by(function: FunctionType) -> Iterator[Any]:
    """The globals and the variables around it which its code names; the real torch, if it imports that."""
    for code in _codes(function.__code__):
        for name in code.co_names:
            if name in function.__globals__:
                yield function.__globals__[name]
        if _imports_torch(code):
            yield ModuleType(NAME)
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # empty yet
            continue


def _imports_torch(code: CodeType) -> bool:
    """`import torch` or `from torch import …` stands in it, or that of a package that is built on torch."""
    import dis

    return any(step.opname == "IMPORT_NAME" and needs_torch(str(step.argval)) for step in dis.get_instructions(code))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
