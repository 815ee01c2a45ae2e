"""torch's fast path of transformers in eval mode. There is none here, so this is a flag and nothing more."""

from __future__ import annotations

_enabled = True


def get_fastpath_enabled() -> bool:
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    global _enabled
    _enabled = value
