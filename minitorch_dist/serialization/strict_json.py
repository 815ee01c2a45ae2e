"""JSON as these files need it: a name that occurs twice is an error, and every error is a ValueError.

Python's reader keeps the last of two values of one name, and says nothing.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from typing import Any, NoReturn


def loads(text: str | bytes | bytearray, may_have_nan: bool = True) -> Any:
    """The value; ValueError for anything that is no JSON. NaN and infinities are Python's addition."""
    refusal = None if may_have_nan else _refuse
    try:
        decoded = text if isinstance(text, str) else bytes(text).decode()
        return json.loads(decoded, object_pairs_hook=_table, parse_constant=refusal)
    except RecursionError:
        raise ValueError("lists and tables in it are nested too deeply") from None


def checksum(value: Any) -> int:
    """Of a value that was read by `loads`, or can be: the order in tables and the spaces do not count."""
    try:
        return zlib.crc32(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())
    except RecursionError:
        raise ValueError("lists and tables in it are nested too deeply") from None


def _table(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(items)
    if len(found) != len(items):
        (name, _), *_ = Counter(name for name, _ in items).most_common(1)
        raise ValueError(f"the name {name[:100]!r} occurs twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
