"""A learner's code under examination: in a process of its own, that can be stopped whatever it does.

    with Examination.of(workspace, lesson) as exam:
        while not exam.poll(0.1):
            print(exam.asks)               what is looked at now
    exam.verdict, exam.scene               what `checking` found, and what the lesson draws of it

A caller that has other things to do polls without waiting. `candidate` is the other side.
"""

from __future__ import annotations

import json
import os
import signal
import site
import subprocess
import sys
import sysconfig
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import minitorch_dist
from mtd.course import records
from mtd.course.candidate import BY_YOU, STOPPED, CheckOrder, Findings
from mtd.course.lesson import Lesson, LessonError
from mtd.course.path import LessonAnswer
from mtd.course.real_wires.swapping import LIMIT, SETTLING, WIRES
from mtd.course.verdict import CheckVerdict
from mtd.course.workspace import Workspace
from transports import keeper
from transports.clock import SystemClock

LATE = 8.0  # seconds after which a watchman who says nothing is no longer waited for
GRACE = 2.0  # seconds for the watchman to say where the code is
SHOWN = 4000  # characters of what the code printed


def limits(lesson: Lesson) -> tuple[float, float]:
    """Seconds of processor time, and of anything: far more than any solution takes."""
    processor = 4 + 1.5 * lesson.seconds
    return processor, 30 + 5 * processor


class Examination(Findings):
    def __init__(self, answer: LessonAnswer, task: str = "check", **wanted: Any) -> None:
        """`wanted`: what else stands in a `CheckOrder`."""
        lesson = answer.lesson
        super().__init__(CheckVerdict(lesson))
        self.answer, self.printed = answer, ""
        self.written = ""  # the learner's text that is judged
        self.is_over = False
        self._at_end = ExitStack()
        self._folder = self._at_end.enter_context(keeper.temporary_folder("mtd-check-"))
        processor, seconds = limits(lesson)
        if task == "wire":  # each wire has a limit of its own
            seconds += len(WIRES) * (SETTLING + LIMIT)
        self._order = CheckOrder(task, answer, self._folder, processor, seconds, **wanted)
        self._found = self._order.found.open("w+", encoding="utf-8")
        self._output = (self._folder / "printed").open("w+b")
        self._rest = ""
        self._deadline = SystemClock().deadline(seconds + LATE)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "mtd.course.candidate", json.dumps(self._order, default=records.plain)],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                cwd=answer.own,
                env=self._environment(),
                start_new_session=True,
            )
        except OSError as error:
            self._close()
            raise LessonError(f"no process can be started for {answer.file}: {error}") from error

    @classmethod
    def of(cls, workspace: Workspace, lesson: Lesson, task: str = "check", **how: Any) -> Examination:
        """Of a learner's file, with the learner's earlier lessons."""
        text = workspace.text_of(lesson)
        exam = cls(workspace.answer(lesson), task, **how)
        exam.written = text
        return exam

    def keep(self, workspace: Workspace) -> None:
        """Enter what a check found, unless the learner stopped it."""
        if self.verdict is not None and self.stopped != BY_YOU:
            workspace.keep(self.lesson, self.written, self.verdict)

    @classmethod
    def finished(cls, workspace: Workspace, lesson: Lesson, task: str) -> Examination:
        """Of a file without blanks, once it is over."""
        workspace.whole_text_of(lesson)
        with cls.of(workspace, lesson, task) as exam:
            return exam.wait()

    @property
    def lesson(self) -> Lesson:
        return self.answer.lesson

    def _environment(self) -> dict[str, str]:
        found = dict(os.environ)
        above = str(Path(minitorch_dist.__file__).resolve().parents[1])
        installed = {*map(sysconfig.get_path, ("purelib", "platlib")), site.getusersitepackages()}
        if above not in installed:  # what is there is found anyway, and after the standard library
            found["PYTHONPATH"] = os.pathsep.join([above, *filter(None, [found.get("PYTHONPATH")])])
        found["HYPOTHESIS_STORAGE_DIRECTORY"] = str(self._folder / "hypothesis")
        found["PYTHONIOENCODING"] = "utf-8"
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            found.setdefault(name, "1")  # matrices here are small
        return found

    # ---------------------------------------------------------------------------- what it says

    def poll(self, timeout: float = 0.0) -> bool:
        """Take in what has been found; True when it is over. Waits at most `timeout` seconds for that."""
        if self.is_over:
            return True
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)
        ended = self._process.returncode is not None
        if not ended and self._deadline.is_over():  # not even the watchman could run
            self.stopped = "it does not come to an end, and lets nobody look where it is: one call that never returns?"
            self._kill()
            self._process.wait()
            ended = True
        self._read()
        if ended:
            self._end()
        return self.is_over

    @property
    def undrawn(self) -> str:
        """Why there is no picture; "" if there is one."""
        if self.grid is not None or self.scene is not None or self.text:
            return ""
        stopped = self.verdict.said.get("runs", "") if self.verdict else self.stopped
        return self.no_picture or stopped or self.printed or "nobody knows why"

    def wait(self) -> Examination:
        while not self.poll(0.2):
            pass
        return self

    def _read(self) -> None:
        *lines, self._rest = (self._rest + self._found.read()).split("\n")
        for line in lines:
            with suppress(json.JSONDecodeError):  # it was being written when all ended
                self.take(line)

    def _end(self) -> None:
        self.is_over = True
        last = self._output.seek(0, os.SEEK_END) if self.printed_before is None else self.printed_before
        first = self._output.seek(max(last - SHOWN, 0))
        self.printed = self._output.read(last - first).decode("utf-8", "replace").strip()
        status = self._process.returncode
        if status not in (0, STOPPED) and not self.stopped:
            self.stopped = f"its process {_ended(status)}"
        if self.verdict is None and (self.stopped or status == STOPPED):
            self.verdict = self._stopped_verdict()
        self._kill()
        self._close()

    def _stopped_verdict(self) -> CheckVerdict:
        """The verdict on code that had to be stopped: all that is known."""
        verdict, lamps = self.known, self.asks or ("runs",)
        for name in lamps:
            verdict.lamps[name], verdict.worth[name] = None, 1
        verdict.lamps[lamps[0]] = False
        where = "".join(f"\n    {place}" for place in self.where)
        verdict.said[lamps[0]] = f"your code was stopped: {self.stopped or 'nobody knows why'}{where}"
        return verdict

    # ------------------------------------------------------------------------------- the end

    def stop(self) -> None:
        """End it now. `where` then says what the code was doing."""
        if self.is_over:
            return
        if self._process.poll() is None:
            self._order.stop.touch()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE)
        is_late = self._process.returncode is None  # it had no time to say where it was
        self._kill()
        self._process.wait()
        self._read()
        if is_late and self.verdict is None:
            self.stopped = self.stopped or BY_YOU
        self._end()

    def _kill(self) -> None:
        """It, and all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def _close(self) -> None:
        self._found.close()
        self._output.close()
        self._at_end.close()

    def __enter__(self) -> Examination:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "over" if self.is_over else f"looks at {', '.join(self.asks) or 'nothing yet'}"
        return f"<Examination of {self.answer.file}, {state}>"


def _ended(status: int) -> str:
    if status < 0:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-status).name}, as by a crash of the interpreter"
    return f"ended by itself with status {status}"
