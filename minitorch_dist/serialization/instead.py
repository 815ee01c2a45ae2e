"""Advice on objects: their class is code, and a file holds values only."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence, Set as AbstractSet
from enum import Enum
from typing import Any


def advice(thing: Any, name: str) -> str:
    """One sentence that says what to write in the program, where `name` leads to `thing`."""
    kind = type(thing).__name__
    if callable(thing) and hasattr(thing, "__qualname__"):
        return "Save its name instead, and look that up in a dict of your own after load()."
    if hasattr(thing, "state_dict"):
        return (
            f"Save its state_dict() instead, and load it into a new {kind} with load_state_dict()."
        )
    if isinstance(thing, Enum):
        return f"Save {name}.name instead, and take {kind}[…] of it after load()."
    if dataclasses.is_dataclass(thing):
        return (
            f"Save dataclasses.asdict({name}) instead, and call {kind}(**…) with it after load()."
        )
    for kinds, plain in (
        (os.PathLike, "str"), (Mapping, "dict"), (tuple, "tuple"), (str, "str"), (int, "int"), (float, "float"),
        (Sequence, "list"), (AbstractSet, "set"),
    ):  # fmt: skip
        if isinstance(thing, kinds):
            return f"Save {plain}({name}) instead, and call {kind}(…) with it after load()."
    return f"Save vars({name}) or a dict of the values that it was made of instead, and call {kind}(**…) with it after load()."
