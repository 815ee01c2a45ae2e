"""The notebooks in JupyterLab, in a real browser: an answer is written, runs, and lights its lamp (`make notebooks-browser`)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from mtd.course import lesson as lessons, workspace

LIMIT = 580  # seconds
needs = [
    *map(find_spec, ("jupyterlab", "playwright")),
    shutil.which("chromium") or shutil.which("chromium-browser"),
]


@pytest.mark.slow
@pytest.mark.skipif(not all(needs), reason="needs chromium, and pip install '.[browser]'")
def test_a_learner_in_jupyterlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    course = workspace.make(tmp_path / "course")[0]
    ring, first = lessons.find(13), lessons.find(1)
    right = ring.source.solution(marks=True)
    course.file(ring).write_text(right)
    command = [sys.executable, "-m", "tests.notebooks.browser", str(course.folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)

    assert "Still to be written" in str(found["1"]["blank"]) and "★★★" in str(found["1"]["solved"])
    assert course.text_of(first) == first.source.solution(marks=True) and 1 in course.progress().passed

    assert found["13"]["stored"] == 4  # buttons
    said, before, after = str(found["13"]["said"]), *found["13"]["seen"]
    assert "✘ correct" in said and found["13"]["wrong cells"] == 1
    assert before.count(True) == after.count(True) == 1 and before.index(True) == after.index(True) + 1
    assert "coming = (rank - step - 1) % size" in found["13"]["cell"]
    assert course.text_of(ring) == right
