"""What is installed is whole: a wheel has all lessons, and the course can be begun from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mtd.course import lesson

HERE = Path(__file__).parents[2]
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"


@pytest.mark.slow
def test_the_course_begins_from_a_wheel(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("setup.cfg", "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(HERE / name, source)
    for name in ("minitorch_dist", "transports", "mtd", "lessons"):
        shutil.copytree(HERE / name, source / name, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
    subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path)], cwd=source, check=True, capture_output=True, timeout=100
    )
    (wheel,) = tmp_path.glob("*.whl")
    room = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(room)
    ours = {path.relative_to(source) for path in (source / "lessons").rglob("*") if path.is_file()}
    ours.discard(Path("lessons/ruff.toml"))  # for who works on them
    assert ours - {path.relative_to(room) for path in room.rglob("*")} == set()
    pages = source / "mtd" / "pages"
    assert {path.name for path in pages.glob("page.*")} == {path.name for path in (room / "mtd/pages").glob("page.*")}

    env = {**os.environ, "PYTHONPATH": str(room), "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "mtd", "init", "course"],
        cwd=tmp_path,
        env=env,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    many = len(lesson.all_lessons())
    assert f"{many} lessons are" in done.stdout
    assert len([*(tmp_path / "course").glob("[0-9]*_*/text.md")]) == many
    built = subprocess.run(
        [sys.executable, "-P", "-m", "mtd", "dev", "build"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert built.returncode == 2 and "this is for a checkout of the repository" in built.stderr
    assert not (room / "docs").exists() and not (room / "mystack").exists()
