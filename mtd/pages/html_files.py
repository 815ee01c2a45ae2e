"""Pages that open from the disk: `page.html`, its style and its script become one text, into which the data go as JSON."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def text_of(package: str, file: str) -> str:
    """A file that lies beside a package's modules."""
    return files(package).joinpath(file).read_text(encoding="utf-8")


def filled(package: str, name: str, data: Any, **parts: str) -> str:
    """The page of this name. No text in the data can end the script in which they stand."""
    packed = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    style, script = (text_of(package, f"{name}.{end}") for end in ("css", "js"))
    return text_of(package, f"{name}.html").format(style=style, script=script, data=packed, **parts)
