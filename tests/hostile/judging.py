"""What counts as a fall, and how it is seen.

a door may          return, or raise one of its refusals
it falls if it      raises anything else
                    computes for longer than its input is worth (processor time, so the load of the
                    machine does not count), or stands still
                    takes more memory than its input is worth
                    runs something: an import, a program, a file outside its folder, a connection
                    refuses what the real writer made, and nobody bent
                    says why with characters that a terminal would obey
"""

from __future__ import annotations

import codecs
import os
import resource
import signal
import sys
import traceback
import tracemalloc
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rich.cells import cell_len

from tests.hostile.door import Door, Input
from transports.plain_text import clean

SECONDS, SECONDS_A_BYTE = 1.0, 1e-5  # of the processor
STANDSTILL = 30.0  # seconds of the clock on the wall
BYTES, BYTES_A_BYTE = 2 << 20, 300  # of memory
SPACE = 2 << 30  # more address space than at the beginning is never needed
LOOK = 8  # one input in so many has its memory measured

RUNS = frozenset({
    "import", "exec", "subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty",
    "os.posix_spawn", "os.spawn", "pickle.find_class", "marshal.loads", "ctypes.dlopen", "os.kill",
    "code.__new__", "function.__new__", "socket.connect", "socket.bind", "socket.getaddrinfo",
    "webbrowser.open", "sys.setprofile", "sys.settrace",
})  # fmt: skip
ON_FILES = frozenset({
    "open", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "os.listdir", "os.scandir", "shutil.rmtree",
})  # fmt: skip
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@cache
def code_folders(*places: str) -> tuple[str, ...]:
    """Where code lies, if these are the places of `sys.path`."""
    return ("/proc/", *(f"{Path(place).resolve()}/" for place in (*places, sys.base_prefix) if place))


ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "idna")


class Hang(BaseException):
    """It took longer than its input is worth."""


class Reached(BaseException):
    """It did what no reader may do."""


class Verdict(NamedTuple):
    outcome: str  # accepted, refused, fell
    why: str = ""
    trace: str = ""

    @property
    def has_fallen(self) -> bool:
        return self.outcome == "fell"


class Judge:
    """One for each process: an audit hook cannot be taken away again."""

    def __init__(self) -> None:
        for name in ENCODINGS:  # JSON looks them up by a text's first bytes; they are Python's own
            codecs.lookup(name)
        cell_len("語")  # rich imports its table of wide characters when the first one comes
        self._is_armed = False
        self._folder: str | None = None
        self._deeds: list[str] = []
        sys.addaudithook(self._heard)
        signal.signal(signal.SIGPROF, self._too_long)
        signal.signal(signal.SIGALRM, self._stands_still)

    def judge(self, door: Door, given: Input, is_measured: bool, is_watched: bool = True) -> Verdict:
        """Knock once. Where it is not watched, it may import what it needs."""
        size = door.size_of(given.given)
        self._deeds.clear()
        self._folder = None if door.folder is None else f"{door.folder}"
        if is_measured:
            tracemalloc.start()
        try:
            verdict = self._knock(door, given, SECONDS + SECONDS_A_BYTE * size, is_watched)
        finally:
            peak = tracemalloc.get_traced_memory()[1] if is_measured else 0
            tracemalloc.stop()
        if self._deeds and not verdict.has_fallen:
            return Verdict("fell", f"ran something: {'; '.join(self._deeds[:3])}")
        if peak > BYTES + BYTES_A_BYTE * size and not verdict.has_fallen:
            return Verdict("fell", f"memory: {peak:,} bytes for an input of {size:,}")
        return verdict

    def _knock(self, door: Door, given: Input, seconds: float, is_watched: bool) -> Verdict:
        try:
            try:
                signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
                signal.setitimer(signal.ITIMER_REAL, STANDSTILL, 1.0)
                self._is_armed = is_watched
                door.read(given.given)
            finally:
                self._is_armed = False
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.setitimer(signal.ITIMER_REAL, 0)
        except door.refusals as error:
            if door.is_of_others and (said := f"{error}") != clean(said):
                return self._fallen(f"puts {clean(said)} on the terminal", error)
            if given.changes or not door.is_always_right:
                return Verdict("refused")
            return self._fallen(f"refused a right input: {_line(error)}", error)
        except Hang as error:
            return self._fallen(f"hang: {error}", error)
        except Reached as error:
            return self._fallen(f"ran something: {error}", error)
        except MemoryError as error:
            return self._fallen("memory: MemoryError", error)
        except BaseException as error:
            return self._fallen(f"raised {_line(error)}", error)
        return Verdict("accepted")

    def _fallen(self, why: str, error: BaseException) -> Verdict:
        return Verdict("fell", why, "".join(traceback.format_exception(error)))

    # ------------------------------------------------------------------------------- the watchers

    def _heard(self, event: str, about: tuple[Any, ...]) -> None:
        if not self._is_armed or (event not in RUNS and event not in ON_FILES):
            return
        if event in ON_FILES and (self._is_inside(about) or self._is_reading_code(event, about)):
            return
        if event == "os.kill" and about[1:] == (0,):  # it only asks whether a process lives
            return
        self._is_armed = False  # what tells of it may import
        deed = f"{event} {', '.join(map(repr, about[:2]))[:200]}"
        self._deeds.append(deed)
        self._is_armed = True
        raise Reached(deed)

    def _is_inside(self, about: tuple[Any, ...]) -> bool:
        """Whether a file lies in the door's folder, or was opened before and is known by number."""
        path = about[0] if about else None
        if isinstance(path, int):
            return True
        if self._folder is None or not isinstance(path, str | bytes | os.PathLike):
            return False
        real = os.path.realpath(os.fsdecode(path))
        return real == self._folder or real.startswith(self._folder + os.sep)

    def _is_reading_code(self, event: str, about: tuple[Any, ...]) -> bool:
        """Tracebacks show lines of code, pages come with styles, and a search for installed packages lists the folders
        of `sys.path`, the folder in which we stand among them: reading those runs nothing."""
        if event not in ("open", "os.listdir", "os.scandir") or not about:
            return False
        if not isinstance(about[0], str | os.PathLike):
            return False
        if event == "open" and isinstance(about[2], int) and about[2] & WRITES:
            return False
        return f"{os.path.realpath(about[0])}/".startswith(code_folders(*sys.path))

    def _too_long(self, *_: object) -> None:
        raise Hang("it computes for longer than its input is worth")

    def _stands_still(self, *_: object) -> None:
        raise Hang(f"it has been waiting for {STANDSTILL:g} s")


def confine() -> None:
    """No more address space than a reader can need: so no allocation ends the machine."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + SPACE
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))


def _line(error: BaseException) -> str:
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {text}"[:200]
