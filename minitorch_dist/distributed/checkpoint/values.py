"""The values of a checkpoint that are no tensors: as JSON where that is exact, else in the typed codec.

Loading runs nothing: a value is never a pickle, and no variable of the environment changes that. A value that
would have to be pickled is refused when it is saved.
"""

from __future__ import annotations

import base64
import io
from typing import Any

from minitorch_dist import serialization
from minitorch_dist.distributed import codec
from minitorch_dist.distributed.checkpoint.index import CheckpointException
from minitorch_dist.serialization import instead

_EXACT = 1 << 63  # integers up to here are JSON


def packed(name: str, value: Any) -> Any:
    """The value as JSON: itself, or its bytes in a table of one entry. Unsendable says what in it is
    no value."""
    if value is None or type(value) in (bool, float, str):
        return value
    if type(value) is int and -_EXACT <= value < _EXACT:
        return value
    try:
        return {"packed": base64.b64encode(codec.pack(value)).decode()}
    except codec.Unsendable as error:
        raise codec.Unsendable(_refusal(name + error.where, error)) from None


def _refusal(place: str, error: codec.Unsendable) -> str:
    if error.value is None:
        return f"{place} cannot be saved: {error.what}. A checkpoint holds no code and no pickle"
    kind = type(error.value)
    return (
        f"{place} cannot be saved: a {kind.__module__}.{kind.__qualname__} is no value, and a checkpoint holds no code and no "
        f"pickle. {instead.advice(error.value, place)}"
    )


def unpacked(name: str, value: Any) -> Any:
    """The value again; CheckpointException names the entry whose bytes are none."""
    try:
        match value:
            case None | bool() | int() | float() | str():
                return value
            case {"saved": str(text), **rest} if not rest:
                return serialization.load(io.BytesIO(base64.b64decode(text, validate=True)))
            case {"packed": str(text), **rest} if not rest:
                return codec.unpack(base64.b64decode(text, validate=True))
    except (codec.CodecError, serialization.SerializationError, ValueError) as error:
        raise CheckpointException(f"the value {name} cannot be loaded: {error}") from None
    raise CheckpointException(f"the value {name} cannot be loaded: it is a {type(value).__name__}")
