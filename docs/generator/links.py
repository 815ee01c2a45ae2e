"""One text for the repository and for the site: links between files of the repository become links between pages.

A page is written as the repository shows it, so its links are relative to its own file. `Places` knows which file became which
page. A linked file of code gets a page that shows it, and a linked folder a page that lists its files.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)([^)\s]+)(?=\))")
CODE = re.compile(r"^(?P<fence>```+|~~~+).*?^(?P=fence)[ ]*$|(?<=\n\n)(?:    [^\n]*\n+)+|`[^`\n]+`", re.M | re.S)
ITEM = re.compile(r"(?:[-*]|\d+\.) ")


def outside_code(text: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a text in order, each with whether it is outside code."""
    start = 0
    for code in CODE.finditer(text):
        yield text[start : code.start()], True
        yield code[0], False
        start = code.end()
    yield text[start:], True


def targets(text: str, origin: str) -> Iterator[str]:
    """The files of the repository that a text links to, by their paths from the root."""
    for piece, is_text in outside_code(text):
        if is_text:
            for found in LINK.findall(piece):
                yield path_from(origin, found.partition("#")[0])


def path_from(origin: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin), target)) if target else origin


class Places:
    """Which page of the site shows which file of the repository."""

    def __init__(self) -> None:
        self.page_of: dict[str, str] = {}

    def rewritten(self, text: str, origin: str, page: str) -> str:
        """The text with its links as the site has them, and a blank line before each list, which Markdown here asks for."""

        def link(found: re.Match[str]) -> str:
            target, mark, anchor = found[1].partition("#")
            path = path_from(origin, target)
            if path not in self.page_of:
                return found[0]
            return posixpath.relpath(self.page_of[path], posixpath.dirname(page) or ".") + mark + anchor

        pieces = [LINK.sub(link, piece) if is_text else piece for piece, is_text in outside_code(text)]
        return before_lists("".join(pieces))


def before_lists(text: str) -> str:
    lines: list[str] = []
    fenced = False
    for line in text.split("\n"):
        before = lines[-1] if lines else ""
        if not fenced and ITEM.match(line) and before.strip() and not ITEM.match(before) and before[0] != " ":
            lines.append("")
        fenced ^= line.startswith("```")
        lines.append(line)
    return "\n".join(lines)
