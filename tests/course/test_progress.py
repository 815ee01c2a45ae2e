"""progress.json: what is written is read again, whatever happens to the file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from mtd.course import progress
from mtd.course.progress import BestResult, Passed, Prediction, Progress

NUMBERS = st.integers(1, 30)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
PROGRESSES = st.builds(
    Progress,
    present=st.none() | NUMBERS,
    passed=st.dictionaries(NUMBERS, st.builds(Passed, st.integers(0, 3), st.text(max_size=5))),
    hints=st.dictionaries(NUMBERS, st.integers(1, 3)),
    predictions=st.lists(st.builds(Prediction, NUMBERS, st.text(max_size=5), FLOATS, FLOATS), max_size=3),
    reference=st.sets(NUMBERS),
    explained=st.sets(NUMBERS),
    given_up=st.sets(NUMBERS),
    written=st.dictionaries(st.text(max_size=5), st.text(max_size=5)),
    rooms=st.dictionaries(
        st.text(max_size=5),
        st.dictionaries(st.text(max_size=5), st.builds(BestResult, FLOATS, st.text(max_size=5)), max_size=2),
        max_size=2,
    ),
)


@given(PROGRESSES)
def test_what_is_written_is_read(found: Progress) -> None:
    assert Progress.of(found.text()) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"version": 1}',
        '{"version": 99}',
        '{"version": "1"}',
        "\xff\x00",
        json.dumps({**json.loads(Progress().text()), "passed": {"x": 1}}),
        json.dumps({**json.loads(Progress().text()), "hints": [1]}),
        json.dumps({**json.loads(Progress().text()), "predictions": [{"lesson": 1}]}),
    ],
)
def test_a_damaged_file_is_set_aside_with_words(text: str, tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / progress.FILE).write_bytes(text.encode("latin-1"))
        found = progress.read(tmp_path)
        aside = tmp_path / f"progress.damaged-{number}.json"
        assert found.passed == {} and aside.name in found.notice and "mtd check --all" in found.notice
        assert aside.read_bytes() == text.encode("latin-1")
        with progress.changing(tmp_path) as found:
            found.hints[1] = 2
        assert progress.read(tmp_path).hints == {1: 2} and not progress.read(tmp_path).notice


def test_an_error_within_changes_nothing(tmp_path: Path) -> None:
    with progress.changing(tmp_path) as found:
        found.present = 3
    with pytest.raises(KeyError), progress.changing(tmp_path) as found:
        found.present = 4
        raise KeyError
    assert progress.read(tmp_path).present == 3


@pytest.mark.slow
def test_a_kill_while_it_is_written_leaves_one_that_can_be_read(tmp_path: Path) -> None:
    """A process writes without end and is killed again and again, at moments of its own choice."""
    code = (
        "import sys; from pathlib import Path; from mtd.course import progress\n"
        "while True:\n"
        "    with progress.changing(Path(sys.argv[1])) as found:\n"
        "        found.present = (found.present or 0) + 1\n"
        "        found.written = {str(n): 'x' * 50 for n in range(200)}\n"
        "    print(found.present, flush=True)\n"
    )
    before = 0
    for turn in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert process.stdout is not None
        said = [int(process.stdout.readline()) for _ in range(3 + 5 * turn)]
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        found = progress.read(tmp_path)
        assert not found.notice and found.present is not None
        assert found.present >= said[-1] > before and len(found.written) == 200
        before = found.present
