"""What is no tensor in a checkpoint: as JSON where that is exact, else in the typed codec.

Loading runs nothing: neither has a form for code.
"""

from __future__ import annotations

import base64
import io
from typing import Any

from minitorch_dist import serialization
from minitorch_dist.distributed import codec


def packed(name: str, value: Any) -> Any:
    """The value as JSON: itself, or its bytes in a table of one entry."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    try:
        return {"packed": base64.b64encode(codec.pack(value)).decode()}
    except codec.CodecError as error:
        raise type(error)(f"{name} cannot be saved: {error}") from None


def wrapped(octets: bytes) -> dict[str, str]:
    """What a planner has made of a value: a file of `save`."""
    return {"saved": base64.b64encode(octets).decode()}


def octets(value: Any) -> bytes:
    """A value as a file of `save`, whoever packed it."""
    if isinstance(value, dict) and "saved" in value:
        return base64.b64decode(value["saved"])
    file = io.BytesIO()
    serialization.save(unpacked(value), file)
    return file.getvalue()


def unpacked(value: Any) -> Any:
    if isinstance(value, dict) and "saved" in value:
        return serialization.load(io.BytesIO(base64.b64decode(value["saved"])))
    if isinstance(value, dict):
        return codec.unpack(base64.b64decode(value["packed"]))
    return value
