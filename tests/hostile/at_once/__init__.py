"""Two at once: programs that know nothing of each other, in one place.

saves    savers and readers of one checkpoint's folder, each in a process of its own
"""

from __future__ import annotations

from tests.hostile.at_once import saves
from tests.hostile.running import Part


def at_once_parts() -> list[Part]:
    return [Part("saves-and-readers", "twice", saves.Saves, 2.0)]
