"""Text of others, as it may be shown: a terminal obeys what stands between the letters.

    "rank 3\\x1b[2J is lost"      ─►      r"rank 3\\x1b[2J is lost"

A file that somebody gave us, a peer or another process of this host can put escape codes into any text. They move the
cursor, clear what was said, or change the title of the window; other characters turn the writing direction. So each reader
of such a text cleans it once, before it becomes a name or a part of an error.
"""

from __future__ import annotations

import re
from typing import Final

_UNSEEN: Final = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the writing direction
    r"\ud800-\udfff"  # halves of a letter, which no stream can write
)
_LINES: Final = re.compile(f"[{_UNSEEN}]")
_LINE: Final = re.compile(f"[{_UNSEEN}\\t\\n\u2028\u2029]")


def clean(text: str | bytes, lines: bool = True) -> str:
    """The text with each character that a terminal would obey written as `repr` writes it. Tabs and ends of lines
    stay if it may have several `lines`."""
    text = text if isinstance(text, str) else bytes(text).decode(errors="replace")
    if text.isprintable():  # nearly always
        return text
    return (_LINES if lines else _LINE).sub(_spelt, text)


def _spelt(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]
