"""What is read of a failed run: the cause, once, and where."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from minitorch_dist.distributed import traces
from minitorch_dist.distributed.elastic.multiprocessing.errors import ProcessFailure
from minitorch_dist.distributed.exceptions import DistMismatch, PeerFailed
from mtd.cli import scripts

TRACE = 'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n    step()\n'
EMBEDDED = (
    "a.b.PeerFailed: rank 1 raised ValueError: bad batch\n"
    'Traceback (most recent call last):\n  File "train.py", line 6\nValueError: bad batch\n'
    " The group 'default_pg' cannot be used since; make a new one.\n(4 frames are left out)"
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TRACE + EMBEDDED, "a.b.PeerFailed: rank 1 raised ValueError: bad batch"),
        (TRACE + "ValueError: bad\nbatch\n(a note)\n", "ValueError: bad"),
        (
            f"{TRACE}KeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\n{TRACE}OSError: 2",
            "OSError: 2",
        ),
        (
            "the process ended with exit code 3, without an exception",
            "the process ended with exit code 3, without an exception",
        ),
        ("", ""),
    ],
)
def test_the_line_of_a_failure_is_its_cause(text: str, line: str) -> None:
    failure = ProcessFailure(local_rank=0, pid=1, exitcode=1, error_file="<N/A>", rank=0, host="h")
    failure.message = text
    assert failure.last_line() == line


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


def test_an_error_that_the_report_tells_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    mismatch = raised(DistMismatch("these ranks should do the same: " + "x" * 100))
    assert "Traceback" in traces.shown(mismatch)  # nobody else reports it
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", "/there")
    said = traces.shown(mismatch)
    assert said.startswith("DistMismatch at test_reports.py:") and said.count("\n") == 0 and len(said) < 150
    assert traces.shown(raised(PeerFailed(1, "it raised", "here"))).count("\n") == 0
    assert "Traceback" in traces.shown(raised(ValueError("bad batch")))
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "DETAIL")
    assert "Traceback" in traces.shown(mismatch)


def test_what_a_process_raised_is_shown_once_with_its_line() -> None:
    error = ValueError("bad batch")
    error.add_note(
        "(in rank 1 of 4, a process over tcp://)\nTraceback (most recent call last):\n"
        f'  File "{scripts.__file__}", line 3, in play\n    exec(code)\n'
        '  File "/home/me/train.py", line 6, in <module>\n    raise ValueError("bad batch")\nValueError: bad batch'
    )
    assert scripts.shown(error) == ("ValueError, at train.py:6: bad batch\n(in rank 1 of 4, a process over tcp://)")


SCRIPT = """
import minitorch_dist as torch, minitorch_dist.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 1:
    {wrong}
dist.all_reduce(torch.ones(2))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "words", "times"),
    [
        ("raise ValueError('bad batch')", 'File "{}", line 6', 2),
        ("dist.broadcast(torch.ones(2), 0)", "All ranks of a group must call", 1),
    ],
)
def test_the_launcher_tells_a_cause_in_full_where_it_arose_and_in_the_report(
    wrong: str, words: str, times: int, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(wrong=wrong))
    done = subprocess.run(
        [sys.executable, "-m", "minitorch_dist.distributed.run", "--nproc-per-node", "3", str(script)],
        capture_output=True,
        text=True,
    )
    assert 1 <= done.stderr.count(words.format(script)) <= times, done.stderr
    assert "cannot be used since" not in done.stderr.rpartition("Root cause")[2]
