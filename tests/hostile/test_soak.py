"""The soak finds what it looks for: a job that leaves things behind, that is wrong, or that hangs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.hostile.soak import __main__ as soak, rounds
from tests.hostile.soak.rounds import Outcome, Round

JOBS = {
    "right": "print('right')",
    "wrong": "print('WRONG: a sum')",
    "failing": "raise SystemExit(3)",
    "silent": "pass",
    "hanging": "import time; time.sleep(600)",
    "leaving a process": "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True); print('right')",
    "leaving a file": "import tempfile; tempfile.mkstemp(); print('right')",
    "leaving a folder": "import tempfile; tempfile.mkdtemp(); print('right')",
    "leaving a draft": "import sys; open(sys.argv[1] + '/draft', 'w'); print('right')",
    "writing home": "import pathlib; (pathlib.Path.home() / '.mtd').touch(); print('right')",
}
FOUND = {
    "right": set(),
    "wrong": {"wrong"},
    "failing": {"wrong"},
    "silent": {"wrong"},
    "hanging": {"hangs"},
    "leaving a process": {"processes"},
    "leaving a file": {"files"},
    "leaving a folder": {"files"},
    "leaving a draft": {"files"},
    "writing home": {"files"},
}


class OneJob(Round):
    """Undisturbed."""

    script = ""

    def _command(self) -> list[str]:
        return [sys.executable, "-c", self.script, f"{self.folder / 'job'}"]

    def run(self) -> Outcome:
        self._job(is_struck=False)
        self._look("tmp", "home", "shm", "job")
        return Outcome(self.token, self.wire, self.program, self.blows, self.faults, "")


def played(script: str, folder: Path) -> Outcome:
    one = OneJob("1:1", folder / "round", {"queue": "queue://"}, ["collectives"])
    one.script = script
    return one.run()


@pytest.mark.parametrize("name", JOBS)
def test_what_a_job_does_wrong_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "AFTER", 0.5)
    monkeypatch.setattr(rounds, "SECONDS", 2.0 if name == "hanging" else 120.0)
    found = played(JOBS[name], tmp_path)
    assert {kind for kind, _ in found.faults} == FOUND[name], found.faults
    assert f"{found.wire:22} {found.program:12}      1" in soak.table([found])


@pytest.mark.skipif(not rounds.apart(Path("/")), reason="its own shared memory needs root and unshare")
def test_shared_memory_of_the_round_is_its_own(tmp_path: Path) -> None:
    found = played("open('/dev/shm/mtd-soak-test', 'w'); print('right')", tmp_path)
    assert [kind for kind, _ in found.faults] == ["memory"]
    assert not Path("/dev/shm/mtd-soak-test").exists()


def test_a_round_is_drawn_from_its_token_alone(tmp_path: Path) -> None:
    wires = {f"wire {n}": "queue://" for n in range(9)}
    one, again = (Round("3:4", tmp_path / name, wires, ["ddp", "calls"]) for name in "ab")
    assert (one.wire, one.program, one.size) == (again.wire, again.program, again.size)
    assert one.random.random() == again.random.random()
