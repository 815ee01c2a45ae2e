"""The reference: a page for each list in `names.toml`, made of signatures and docstrings.

A docstring begins with sentences. The sections `Args:`, `Returns:`, `Raises:` and `Example:` follow, in Google's style.
"""

from __future__ import annotations

import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from enum import Enum
from functools import reduce
from typing import Any

from chapters import Chapter
from links import ROOT

PACKAGE = "minitorch_dist"
PAGES = tomllib.loads((ROOT / "docs" / "generator" / "names.toml").read_text("utf-8"))
SECTION = re.compile(r"^(Args|Returns|Raises|Example):$", re.M)
ITEM = re.compile(r"^    (\*{0,2}[\w.]+(?:, \*{0,2}\w+)*): ", re.M)
TOP = """# Reference

Each page lists names, with their arguments, results and errors. `help(dist.all_reduce)` shows the same in Python. Each name has an
example that a test runs. The examples begin with these lines:

```python
import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, optim, sim, testing, utils
from minitorch_dist.nn import functional as F
```

"""


def pages() -> Iterator[Chapter]:
    lists = "".join(f"- [{one['title']}]({page}.md): {one['about']}\n" for page, one in PAGES.items())
    yield Chapter("reference/index.md", TOP + lists, "docs/reference/README.md", "Reference")
    for page, one in PAGES.items():
        text = f"# {one['title']}\n\n{one['about']}\n\n" + "".join(map(entry, one["names"].split()))
        yield Chapter(f"reference/{page}.md", text, f"docs/reference/{page}.md", one["title"])


def all_names() -> list[str]:
    return [name for one in PAGES.values() for name in one["names"].split()]


def find(name: str) -> Any:
    """The object of this dotted name below the package."""

    def step(found: Any, part: str) -> Any:
        if inspect.ismodule(found) and not hasattr(found, part):
            return importlib.import_module(f"{found.__name__}.{part}")
        return getattr(found, part)

    return reduce(step, name.split("."), importlib.import_module(PACKAGE))


def parameters(found: Any) -> list[inspect.Parameter]:
    """Those that a caller names. Values of an Enum are listed by its text."""
    if (inspect.isclass(found) and issubclass(found, Enum)) or is_plain_error(found):
        return []
    every = inspect.signature(found).parameters.values()
    return [one for one in every if one.name != "self" and not one.name.startswith("_")]


def is_plain_error(found: Any) -> bool:
    return inspect.isclass(found) and issubclass(found, Exception) and "__init__" not in vars(found)


def sections(found: Any) -> dict[str, str]:
    """The text of a docstring, under "", and its sections by name."""
    first, *rest = SECTION.split(inspect.getdoc(found) or "")
    return {"": first.strip()} | {name: text.strip("\n") for name, text in zip(rest[::2], rest[1::2], strict=True)}


def items(text: str) -> dict[str, str]:
    """The text of a section for each of its names."""
    _, *rest = ITEM.split(text)
    return {name: " ".join(said.split()) for name, said in zip(rest[::2], rest[1::2], strict=True)}


def described(found: Any) -> set[str]:
    names = items(sections(found).get("Args", ""))
    return {one.strip(" *") for several in names for one in several.split(",")}


def entry(name: str) -> str:
    found = find(name)
    parts = sections(found)
    text = f"## {name.removeprefix('distributed.')} {{ #{name} data-toc-label='{name.split('.')[-1]}' }}\n\n"
    text += f"```python\n{signature(name, found)}\n```\n\n"
    text += code_blocks(parts[""]) + "\n\n"
    text += table("argument", items(parts.get("Args", "")))
    if "Returns" in parts:
        text += f"**Returns** {' '.join(parts['Returns'].split())}\n\n"
    text += table("raises", items(parts.get("Raises", "")))
    return text + f"```python\n{inspect.cleandoc(parts['Example'])}\n```\n\n"


def signature(name: str, found: Any) -> str:
    """As a call is written: names and defaults, without types."""
    short = name.removeprefix("distributed.")
    words, starred = [], False
    for one in parameters(found):
        if one.kind is one.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        starred |= one.kind is one.VAR_POSITIONAL
        mark = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        default = "" if one.default is one.empty else f"={shown(one.default)}"
        words.append(f"{mark}{one.name}{default}")
    if inspect.isclass(found) and issubclass(found, Enum):
        return short
    line = f"{short}({', '.join(words)})"
    return line if len(line) <= 76 else f"{short}(\n    " + ",\n    ".join(words) + ",\n)"


def shown(value: Any) -> str:
    text = f"{type(value).__name__}.{value.name}" if isinstance(value, Enum) else repr(value)
    text = text.replace("RedOpType.", "ReduceOp.")
    return "…" if text.startswith("<") else text


def table(head: str, said: dict[str, str]) -> str:
    if not said:
        return ""
    rows = (f"| `{name}` | {words.replace('|', chr(92) + '|')} |\n" for name, words in said.items())
    return f"| {head} | |\n|---|---|\n" + "".join(rows) + "\n"


def code_blocks(text: str) -> str:
    """Indented pieces of a docstring as code; a table of equal signs as text."""
    if "\n====" in text:
        return re.sub(r"^=+ [= ]*=$(?:.|\n)*^=+ [= ]*=$", lambda found: f"```text\n{found[0]}\n```", text, flags=re.M)
    return text
