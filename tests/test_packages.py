"""A release holds what the README promises: the sdist all that is read, the wheel all that runs, and both a page."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from setuptools import build_meta as b; getattr(b, 'build_' + sys.argv[1])(sys.argv[2])"
READ = ("docs", "lessons", "mystack", "notebooks", "programs", "tests")
RUNS = {"minitorch_dist", "transports", "mtd", "lessons", "mtd_backend.py", "mtd_fixtures.py"}
RELATIVE = re.compile(r"\]\((?!https?://|#)([^)\s]+)\)")


def test_links_of_the_description_lead_somewhere() -> None:
    described = runpy.run_path(str(ROOT / "setup.py"))["described"]
    page = (ROOT / "README.md").read_text("utf-8")
    assert len(RELATIVE.findall(page)) > 20
    absolute = described(page, "https://example.org/stack")
    assert RELATIVE.findall(absolute) == []
    assert "](https://example.org/stack/blob/main/docs/course.md)" in absolute
    assert "![" in absolute and "](https://example.org/stack/raw/main/docs/ring.svg)" in absolute
    alone = described(page, "")
    assert RELATIVE.findall(alone) == [] and "![" not in alone
    assert "Learn" in alone and "float32[16]) at sglang_33289.py:26" in alone


def tracked() -> list[str]:
    """The files of the repository; none where git does not know it."""
    if shutil.which("git") is None:
        return []
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    return [name for name in listed.stdout.split("\0") if name]


def build(kind: str, source: Path, into: Path) -> Path:
    subprocess.run(
        [sys.executable, "-c", BUILD, kind, str(into)], cwd=source, check=True, capture_output=True, timeout=300
    )
    (made,) = [path for path in into.iterdir() if path.is_file()]
    return made


@pytest.mark.slow
def test_sdist_and_wheel_hold_what_is_promised(tmp_path: Path) -> None:
    names = [name for name in tracked() if (ROOT / name).is_file()]
    if not names:
        pytest.skip("this is no clone")
    source = tmp_path / "source"
    for name in names:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    (tmp_path / "sdist").mkdir()
    with tarfile.open(build("sdist", source, tmp_path / "sdist")) as packed:
        packed.extractall(tmp_path / "open", filter="data")
    (opened,) = (tmp_path / "open").iterdir()
    promised = [name for name in names if name.startswith(READ) or ("/" not in name and not name.startswith("."))]
    assert [name for name in promised if not (opened / name).is_file()] == []

    (tmp_path / "wheel").mkdir()
    with zipfile.ZipFile(build("wheel", opened, tmp_path / "wheel")) as wheel:
        inside = wheel.namelist()
        (metadata,) = (name for name in inside if name.endswith("dist-info/METADATA"))
        description = Parser().parsestr(wheel.read(metadata).decode()).get_payload()
    tops = {name.partition("/")[0] for name in inside}
    assert {name for name in tops if not name.endswith(".dist-info")} == RUNS
    assert not [name for name in inside if re.search(r"(^|/)(tests/|test_\w+\.py$|conftest\.py$)", name)]
    assert "# minitorch_dist" in str(description) and RELATIVE.findall(str(description)) == []
