"""The word of a class: four words on the projector, from which everybody makes the same key.

    maple-river-otter-cloud  ──scrypt──►  32 bytes, which stand for MINITORCH_DIST_KEY

Four of 256 words are 32 bits. That is little for a key and much for a lesson. Each guess at the broker
costs a connection. A listener may record a conversation and try words at home. Then each word costs a scrypt of
16 MB: some years of one processor for half of them. A class takes another word each time.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from mtd.refusals import CannotDo

WORDS: Final = tuple(Path(__file__).with_suffix(".txt").read_text("utf-8").split())
COUNT: Final = 4
COST: Final = {"n": 1 << 14, "r": 8, "p": 1, "dklen": 32}  # 16 MB, some 50 ms
SALT: Final = b"minitorch_dist class"
LONGEST: Final = 200  # letters; nobody's word is longer


class WordError(CannotDo):
    """This is no word of a class."""


def draw() -> str:
    """A new word; all 2**32 are as likely."""
    return "-".join(WORDS[byte] for byte in os.urandom(COUNT))


def normal(said: str) -> str:
    """However it was typed: capitals, spaces and commas do not count."""
    parts = "".join(c if c.isalnum() else " " for c in said.casefold()).split()
    if not parts or len(said) > LONGEST:
        raise WordError(
            f"{said[:40]!r} is no word of a class. It stands on the projector, like maple-river-otter-cloud"
        )
    return "-".join(parts)


def key(word: str) -> str:
    """The job's key, as text for the environment."""
    return hashlib.scrypt(normal(word).encode(), salt=SALT, **COST).hex()


def unknown(word: str) -> list[str]:
    """Parts that are in no word drawn here: most likely mistyped, unless the teacher made it up."""
    return [part for part in normal(word).split("-") if part not in WORDS]
