"""The critical path in sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from mtd.timelines import critical_path
from transports.quantities import in_words

SMALLEST: Final = 0.005  # shares below this are told together
MOST: Final = 6  # sentences of one kind
_NUMBER: Final = re.compile(r"\d+")


def told(path: critical_path.CriticalPath) -> list[str]:
    """Sentences, the largest share first."""
    whole = path.time
    if not whole:
        return ["The run took no time."]
    ranks = len({part.rank for part in path.parts})
    found = [
        f"The run takes {in_words(whole)}. It is a chain of {len(path.parts)} parts on "
        f"{ranks} rank{'s' * (ranks > 1)}, each of which waits for the one before."
    ]
    kinds: dict[tuple[str, str], list[critical_path.PathPart]] = {}
    for part in path.parts:
        kinds.setdefault(_kind(part), []).append(part)
    ordered = sorted(kinds.items(), key=lambda item: -_sum(item[1]))
    large = [(kind, parts) for (kind, _), parts in ordered[:MOST] if _sum(parts) >= SMALLEST * whole]
    found += [_sentence(kind, parts, whole) for kind, parts in large]
    small = whole - sum(_sum(parts) for _, parts in large)
    if small:
        found.append(f"{small / whole:.1%} is all else.")
    return found


def _kind(part: critical_path.PathPart) -> tuple[str, str]:
    """Parts with the same kind are listed together: all computing, or one kind of collective."""
    if part.kind == critical_path.COMPUTING:
        return critical_path.COMPUTING, ""
    return part.kind, part.name


def _sentence(kind: str, parts: Sequence[critical_path.PathPart], whole: int) -> str:
    share = f"{_sum(parts) / whole:.0%} of it is"
    if kind == critical_path.OTHER:
        return f"{share} nothing that was noted: ranks sleep, or begin."
    if kind == critical_path.COMPUTING:
        return f"{share} computing: {_places(parts, whole)}."
    owners = critical_path.by_owner(parts)
    (name, owner), longest = owners.most_common(1)[0]
    if kind == critical_path.MESSAGE:
        return f"{share} {len(parts)} messages that nothing hides, most from {owner} ({longest / whole:.1%})."
    if len(owners) == 1:
        return f"{share} {name}{f' of {owner}' if owner else ''} that nothing hides ({len(parts)} calls)."
    many = f"{len(owners)} of them, the longest that of {owner or 'the program'} with {longest / whole:.1%}"
    return f"{share} {name} that nothing hides: {many}."


def _places(parts: Sequence[critical_path.PathPart], whole: int) -> str:
    """Modules whose names differ in numbers only are listed together: `Model.layers.*.attention`."""
    found = Counter[str]()
    for part in parts:
        found[_NUMBER.sub("*", part.owner) or part.name] += part.picos
    return ", ".join(f"{place} {picos / whole:.0%}" for place, picos in found.most_common(4))


def _sum(parts: Sequence[critical_path.PathPart]) -> int:
    return sum(part.picos for part in parts)
