"""torch has each name of the table of absent ones, and each of its modules is here or is told of."""

from __future__ import annotations

import importlib
import re
from functools import reduce
from importlib.util import find_spec
from pathlib import Path

import pytest

from minitorch_dist.inventory import not_offered

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def is_in_torch(path: str) -> bool:
    try:
        reduce(getattr, path.split("."), torch)
    except AttributeError:
        above, _, name = path.rpartition(".")
        found = importlib.import_module(f"torch.{above}".rstrip("."))
        return hasattr(found, name) or find_spec(f"torch.{path}") is not None
    return True


def test_torch_has_what_is_gone() -> None:
    gone = [f"{m}.{name}".lstrip(".") for m, names in not_offered.gone().items() for name in names]
    assert [path for path in gone if not is_in_torch(path)] == []


def public_modules() -> list[str]:
    """All modules of torch, by its files: to import them takes a minute, and needs other packages."""
    found = find_spec("torch")
    assert found is not None and found.origin is not None
    root = Path(found.origin).parent
    names = set()
    for file in root.rglob("*.py"):
        parts = file.relative_to(root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and not any(part.startswith("_") for part in parts):
            names.add(".".join(parts))
    return sorted(names)


def test_each_module_of_torch_is_here_or_says_what_to_take() -> None:
    names = public_modules()
    assert len(names) > 700 and "nn.utils.prune" in names
    refused = []
    for name in names:
        try:
            importlib.import_module(f"minitorch_dist.{name}")
        except ImportError as error:
            refused.append((name, str(error)))
    bare = [name for name, words in refused if not re.search(r"'\. [A-Z].*\.$", words)]
    assert bare == []
