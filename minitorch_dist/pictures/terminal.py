"""Pictures in a real terminal: in its colours if it has any, and in letters that it can write."""

from __future__ import annotations

import codecs
import io
import unicodedata
from typing import Final

from rich.console import Console
from rich.text import Text

from minitorch_dist.pictures import spacetime
from minitorch_dist.pictures.colours import colours_of
from minitorch_dist.pictures.scene import COMPUTE, TRANSFER, WAIT, Scene
from minitorch_dist.pictures.spacetime import Picture
from transports.plain_text import clean


class _Words(dict[int, str | int]):
    """The letters, each with its form in ASCII."""

    def __missing__(self, code: int) -> str | int:
        if code < 128:
            return code
        letter = chr(code)
        name = unicodedata.name(letter, "")
        plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
        if not plain and name.startswith("GREEK"):
            plain = name.partition("LETTER ")[2].lower().partition(" ")[0]
        if not plain and "BRAILLE" in name:
            plain = ":" if code > 0x2800 else " "
        if not plain and "BOX DRAWINGS" in name:
            plain = "+"
        self[code] = plain or "?"
        return self[code]


PLAIN: Final[dict[str, str]] = {
    "✔": "+", "▼": "v", "▲": "^", "◄": "<", "✓": "+", "✘": "x", "★": "*", "☆": ".", "×": "x", "–": "-", "—": "-", "⌈": "ceil(", "⌉": ")", "⌊": "floor(",
    "⌋": ")", "≤": "<=", "≥": ">=", "≠": "!=", "≡": "==", "≈": "~", "•": "*", "“": '"', "”": '"', "‘": "'", "’": "'", "−": "-",
    "⟨": "<", "⟩": ">", "∈": "in", "═": "=", "║": "|", "━": "-", "┃": "|", "∞": "inf", "√": "sqrt", "∑": "sum", "←": "<", "↑": "^",
    "↓": "v", "⇒": "=>", "«": "<", "»": ">", "░": ".", "⁻": "-", "₋": "-", "∂": "d", "∇": "grad",
}  # fmt: skip
WORDS: Final = _Words({ord(letter): plain for letter, plain in PLAIN.items()})
REFUSING: Final = ("strict", "backslashreplace", "surrogateescape")  # the last one: in a C locale
STYLES: Final = {COMPUTE: "bold", WAIT: "dim", TRANSFER: "", "failed": "bold red reverse", "done": "green"}


def sayable(text: str, console: Console) -> str:
    """The same in what this terminal can write."""
    if (console.encoding or "ascii").lower().replace("-", "").startswith("utf"):
        return text.encode("utf-8", "replace").decode()  # half of a letter cannot be written
    return text.translate(spacetime.ASCII).translate(WORDS).encode("ascii", "replace").decode()


def spell(error: UnicodeError) -> tuple[str, int]:
    """The text that a stream writes for a letter that it does not have: `errors=` of its encoding (see
    `plain`).
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    piece = error.object[error.start : error.end]
    spelt = piece.translate(spacetime.ASCII).translate(WORDS)
    return spelt.encode("ascii", "replace").decode(), error.end


def plain(*streams: object) -> None:
    """From now on these streams spell what they cannot write, instead of failing."""
    codecs.register_error("spell", spell)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper) and stream.errors in REFUSING:
            stream.reconfigure(errors="spell")


def painted(picture: Picture, scene: Scene, console: Console) -> Text:
    """A picture in the terminal's colours; without its fine characters where it has none."""
    text = Text(no_wrap=True, overflow="crop")
    lines = [sayable(clean(line, lines=False), console) for line in picture.lines]
    starts = []
    for line in lines:
        starts.append(len(text))
        text.append(line.rstrip() + "\n")
    colours = colours_of(scene.names)
    for row, column, what in picture.paint:
        style = colours[what].terminal if what in colours else STYLES.get(what, "")
        if style:
            text.stylize(style, starts[row] + column, starts[row] + column + 1)
    shown = {what for _, _, what in picture.paint}
    if console.color_system is not None and len(colours) > 1 and shown & set(colours):
        text.append("\n")
        for name in colours:
            text.append(sayable(clean(f"  ● {name}", lines=False), console), colours[name].terminal)
    text.rstrip()
    return text
