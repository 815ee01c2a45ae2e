"""A Python file as a module: a lesson's check, an open chapter's judge, a learner's entry, a level of the game."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from mtd.refusals import CannotDo


def load(path: Path, name: str) -> ModuleType:
    """Run the file. It is known under `name` from its first line on, since dataclasses and pickle look there."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file: its name should end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def given(path: Path, name: str, refused: type[CannotDo]) -> ModuleType:
    """A file of the user's. `refused` says why it cannot be run."""
    try:
        return load(path, name)
    except (Exception, SystemExit) as error:
        raise refused(f"{path} cannot be run: {type(error).__name__}: {error}") from error


def beside(file: str, name: str) -> ModuleType:
    """For a check or a judge, `beside(__file__, "costs")`: costs.py in its folder, with the modules that are found now."""
    path = Path(file).with_name(f"{name}.py")
    return load(path, f"{name}_of_{path.parent.name}")
