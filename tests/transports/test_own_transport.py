"""The transport of docs/transports.md, installed as a distribution of its own, found, and checked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "transports.md"


def run(*arguments: str | Path, path: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, text=True, capture_output=True, check=False,
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_is_right(tmp_path: Path) -> None:
    source, installed = tmp_path / "source", tmp_path / "installed"
    source.mkdir()
    page = PAGE.read_text()
    for name, text in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", page, re.S):
        (source / name).write_text(text)
    (source / "setup.cfg").write_text(re.findall(r"```ini\n(.*?)```", page, re.S)[0])
    (source / "setup.py").write_text("import setuptools\n\nsetuptools.setup()\n")
    check = (source / "check.py").rename(tmp_path / "check.py")
    run(
        "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
        "--disable-pip-version-check", "--target", installed, source, path="", folder=tmp_path,
    )  # fmt: skip
    both = f"{installed}{os.pathsep}{ROOT}"
    known = run("-c", "from transports import registry; print(registry.known())", path=both, folder=tmp_path)
    assert "spool" in known and "tcp" in known
    assert run(check, path=both, folder=tmp_path) == "[3.0, 3.0, 3.0]\n"
