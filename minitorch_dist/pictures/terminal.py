"""Pictures in a real terminal: in its colours if it has any, and in letters that it can write."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.text import Text

from minitorch_dist.pictures import spacetime
from minitorch_dist.pictures.colours import colours_of
from minitorch_dist.pictures.scene import COMPUTE, TRANSFER, WAIT, Scene
from minitorch_dist.pictures.spacetime import Picture

WORDS: Final = str.maketrans({
    "✔": "+", "▼": "v", "✘": "x", "★": "*", "☆": ".", "×": "x", "–": "-", "—": "-", "⌈": "ceil(", "⌉": ")", "≤": "<=", "≥": ">=",
    "≠": "!=", "²": "^2", "₂": "2", "α": "alpha", "β": "beta", "γ": "gamma", "Σ": "sum", "•": "*", "\N{NO-BREAK SPACE}": " ",
    "“": '"', "”": '"', "‘": "'", "’": "'", "−": "-", "⁻": "-", "┃": "|", "⟨": "<", "⟩": ">", "∈": "in", "½": "1/2",
})  # fmt: skip
STYLES: Final = {COMPUTE: "bold", WAIT: "dim", TRANSFER: "", "failed": "bold red reverse"}


def sayable(text: str, console: Console) -> str:
    """The same in what this terminal can write."""
    if (console.encoding or "ascii").lower().replace("-", "").startswith("utf"):
        return text
    return text.translate(spacetime.ASCII).translate(WORDS).encode("ascii", "replace").decode()


def painted(picture: Picture, scene: Scene, console: Console) -> Text:
    """A picture in the terminal's colours; without its fine characters where it has none."""
    text = Text(no_wrap=True, overflow="crop")
    lines = [sayable(line, console) for line in picture.lines]
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
            text.append(sayable(f"  ● {name}", console), colours[name].terminal)
    text.rstrip()
    return text
