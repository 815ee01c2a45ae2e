"""Ways to spoil an input: bytes with known number fields, trees of JSON, and texts."""

from __future__ import annotations

import copy
import json
import math
import struct
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

# ------------------------------------------------------------------------------------------- bytes


class Field(NamedTuple):
    """A number in some bytes."""

    at: int
    width: int
    order: str = "little"


def fields_of(layout: str, at: int = 0) -> list[Field]:
    """The numbers of a struct's layout, such as "<2sHIQ"."""
    order = "big" if layout[0] in ">!" else "little"
    found, place = [], at
    for letter in layout[1:]:
        if letter.isdigit():
            continue
        width = struct.calcsize(f"<{letter}")
        if letter not in "sx":
            found.append(Field(place, width, order))
        place += width
    return found


NOT_UTF8 = (b"\x1b[2J", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\x00", b"\xf0\x28\x8c\xbc", "²".encode())


def extreme(random: Random, old: int, width: int, length: int) -> int:
    """A number that a careless reader stumbles over."""
    most = 1 << 8 * width
    found = random.choice((
        0, 1, -1, old + 1, old - 1, 2 * old, most - 1, most // 2, most // 2 - 1, length, length + 1,
        random.randrange(most), 1 << random.randrange(8 * width), -random.randrange(1, 100),
    ))  # fmt: skip
    return found % most


def bytes_bender(
    fields: Callable[[bytes], Sequence[Field]] = lambda data: (),
) -> Callable[[Random, bytes, Sequence[bytes]], bytes]:
    """One change to bytes, half of the time to one of their number fields."""

    def bend(random: Random, data: bytes, pool: Sequence[bytes]) -> bytes:
        places = fields(data) if random.random() < 0.5 else ()
        if places:
            at, width, order = random.choice(places)
            if at + width <= len(data):
                old = int.from_bytes(data[at : at + width], order)  # type: ignore[arg-type]
                new = extreme(random, old, width, len(data)).to_bytes(width, order)  # type: ignore[arg-type]
                return data[:at] + new + data[at + width :]
        return bend_plainly(random, data, pool)

    return bend


def bend_plainly(random: Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    """One change to bytes of which nothing is known."""
    at = random.randrange(len(data) + 1)
    to = min(len(data), at + random.choice((1, 1, 2, 4, 8, 16, 40)))
    match random.randrange(9):
        case 0:  # other bytes
            return data[:at] + random.randbytes(to - at) + data[to:]
        case 1:  # a bit
            flipped = bytes([data[at] ^ 1 << random.randrange(8)]) if at < len(data) else b""
            return data[:at] + flipped + data[at + 1 :]
        case 2:  # more bytes
            return data[:at] + random.randbytes(random.randrange(1, 9)) + data[at:]
        case 3:  # fewer
            return data[:at] + data[to:]
        case 4:  # the end is missing
            return data[:at]
        case 5:  # something comes twice, or often
            return data[:at] + data[at:to] * random.choice((2, 2, 3, 50)) + data[to:]
        case 6:  # the other half is of another input
            other = random.choice(pool)
            return data[:at] + other[random.randrange(len(other) + 1) :]
        case 7:  # no text
            return data[:at] + random.choice(NOT_UTF8) + data[to:]
        case _:  # all ones, or nothing at all
            return data[:at] + random.choice((b"\xff", b"\0")) * (to - at) + data[to:]


# ------------------------------------------------------------------------------------------- trees

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**32, -(2**31), 2**53, 2**63 - 1, 2**63, 2**64, -(2**63) - 1,
    10**400, 0.5, -0.0, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf, "", "0", "-1", "1e999",
    "nan", "\0", "\x1b[2J", "\x9b", "\u202e", "\ud800", "é", "²", "٣", "a" * 300, "__class__", "__import__", "../../etc/passwd",
    "/etc/passwd", ".", "..", [], {}, [[]], [None], [-1], {"": None}, [0] * 70, "\n", "%s%n", "{0}",
)  # fmt: skip


def odd(random: Random) -> Any:
    return copy.deepcopy(random.choice(ODD))


def places_of(tree: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything in a tree of lists and dicts; only some of a very large one."""
    found = [above]
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for number, (key, value) in enumerate(items):
        if number > 40:
            break
        found += places_of(value, (*above, key))
    return found


def bend_tree(random: Random, tree: Any, pool: Sequence[Any] = ()) -> Any:
    """One change to a tree of JSON values."""
    tree = copy.deepcopy(tree)
    path = random.choice(places_of(tree))
    if not path:
        return odd(random) if random.random() < 0.1 else _bend_holder(random, tree, pool)
    holder = tree
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = _bend_holder(random, holder[path[-1]], pool)
    if random.random() < 0.15:
        del holder[path[-1]]
    return tree


def _bend_holder(random: Random, value: Any, pool: Sequence[Any]) -> Any:
    if isinstance(value, bool) or value is None:
        return odd(random)
    if isinstance(value, int):
        near = (value + 1, value - 1, -value, 2 * value, f"{value}", [value])
        return random.choice(near) if random.random() < 0.6 else odd(random)
    if isinstance(value, str) and random.random() < 0.6:
        return bend_text(random, value, [one for one in pool if isinstance(one, str)] or [value])
    if isinstance(value, list) and random.random() < 0.7:
        at = random.randrange(len(value) + 1)
        more = value[at : at + 1] or [odd(random)]
        return value[:at] + more * random.choice((0, 2, 2, 3)) + value[at + 1 :]
    if isinstance(value, dict) and random.random() < 0.7:
        found = list(value.items())
        if found and random.random() < 0.5:  # one thing under the name of another
            a, b = random.choice(found), random.choice(found)
            return {**value, a[0]: b[1]}
        name = bend_text(random, random.choice(found)[0], ["x"]) if found else "x"
        return {**value, name: found[0][1] if found else odd(random)}
    return odd(random)


def as_json(random: Random, tree: Any) -> bytes:
    """The tree as text; seldom with what no tree can hold: names twice, endless digits, deep nests."""
    text = json.dumps(tree, ensure_ascii=random.random() < 0.5)
    drawn = random.random()
    if drawn < 0.02:
        text = text.replace("{", '{"x": 1, "x": 2, ', 1)
    elif drawn < 0.04:
        text = text.replace("1", "1" * 5000, 1)
    elif drawn < 0.05:
        text = "[" * 100_000 + text
    elif drawn < 0.06:
        text = text.replace("0", '{"a":' * 2000 + "0" + "}" * 2000, 1)
    elif drawn < 0.08:
        text = text[: random.randrange(len(text) + 1)]
    return text.encode(errors="surrogatepass")


# ------------------------------------------------------------------------------------------- texts

WORDS: tuple[str, ...] = (
    "", " ", "\0", "\n", "0", "-1", "1", "²", "٣", "1e999", "1e-999", "nan", "inf", "-inf", "9" * 30,
    "9" * 5000, "1" * 400, "0x10", "1_0", "0.5", "1e400", "é", "\ud800", "\u202e", "\x1b[2J", "\x1b]0;x\x07", "\x9b", "=", ",", ";", ":",
    "/", "//", "?", "&", "#", "@", "%", "%zz", "%00", "[", "]", "[::1]", "+", ">", "|", ".", "..",
    "../..", "a" * 300, "__class__", "{0}", "%s", "-" * 40, "'", '"', "\\", "(", ")", "*",
)  # fmt: skip
BREAKS = "=,;:/?&#@+>|.-_ []()"


def bend_text(random: Random, text: str, pool: Sequence[str]) -> str:
    """One change to a text, mostly where one of its words ends."""
    ends = [n for n, letter in enumerate(text) if letter in BREAKS or letter.isdigit()]
    at = random.choice(ends) if ends and random.random() < 0.7 else random.randrange(len(text) + 1)
    to = min(len(text), at + random.choice((1, 1, 2, 5)))
    match random.randrange(7):
        case 0 | 1:
            return text[:at] + random.choice(WORDS) + text[to:]
        case 2:
            return text[:at] + random.choice(WORDS) + text[at:]
        case 3:
            return text[:at] + text[to:]
        case 4:
            return text[:at] + text[at:to] * random.choice((2, 3, 100)) + text[to:]
        case 5:
            other = random.choice(pool)
            return text[:at] + other[random.randrange(len(other) + 1) :]
        case _:
            return text[:at] + chr(random.choice((0x80, 0xFFFF, 0x10FFFF, 0x2028, 0x660))) + text[to:]
