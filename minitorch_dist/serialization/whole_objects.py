"""Whole objects as pickles, where a program asks for them: `save(model, f, pickle_module=pickle)`, `load(f, weights_only=False)`.

A pickle names classes and functions, and to read it runs code. So neither `save` nor `load` comes here by itself, and
`MINITORCH_DIST_ALLOW_PICKLE=0` forbids both. Read only files that you trust, and rather save a `state_dict`.
"""

from __future__ import annotations

import os
import pickle
from typing import Any, BinaryIO, Final

from minitorch_dist.serialization.container import SerializationError

FIRST_BYTE: Final = (
    b"\x80"  # of every pickle since protocol 2; a safetensors file begins with a length
)


def write(obj: Any, file: BinaryIO, module: Any, protocol: int) -> None:
    _check_allowed("save")
    try:
        module.dump(obj, file, protocol=protocol)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        error.add_note(
            "A pickle names functions and classes by their module and does not hold them. So lambdas and functions "
            "within functions cannot be saved: define them with `def` in a module, or save only the state_dict()."
        )
        raise


def is_pickle(file: BinaryIO) -> bool:
    """Whether a pickle begins here. (A header of 128 bytes begins so, too, and is told by its brace.)"""
    start = file.tell()
    found = file.read(9)
    file.seek(start)
    return found[:1] == FIRST_BYTE and found[8:9] != b"{"


def read(file: BinaryIO, map_location: Any, module: Any) -> Any:
    _check_allowed("load")
    if map_location is not None and str(map_location) != "cpu":
        raise SerializationError(
            "a whole object is loaded to the devices on which it was saved; load it without map_location, "
            "and move it with .to()"
        )
    loaded = (module or pickle).load(file)
    return loaded.cpu() if map_location is not None and hasattr(loaded, "cpu") else loaded


def _check_allowed(what: str) -> None:
    if os.environ.get("MINITORCH_DIST_ALLOW_PICKLE") == "0":
        raise SerializationError(f"{what} of a pickle: MINITORCH_DIST_ALLOW_PICKLE=0 forbids it")
