"""`mtd doctor`: what this machine has and lacks; each line is well, or says what to do."""

from __future__ import annotations

import argparse
import importlib.util
import locale
import os
import platform
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from mtd.cli.page import Page
from mtd.course import workspace as workspaces
from mtd.course.lesson import ROOM, LessonError, all_lessons
from transports import keys

NEEDED = ("numpy", "rich", "aiomqtt", "hypothesis", "ml_dtypes")
EXTRAS = {
    "torch": ("the same scripts under PyTorch, and mtd bench beside it", "pip install 'minitorch_dist[parity]'"),
    "greenlet": ("simulations some times faster", "pip install 'minitorch_dist[fast]'"),
    "mpi4py": ("mpi:// under mpirun or Slurm", "pip install 'minitorch_dist[mpi]'"),
    "matplotlib": ("plots in the notebooks", "pip install 'minitorch_dist[notebooks]'"),
}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PINS = (*THREADS, "OPENBLAS_CORETYPE")
WELL, OPEN, BAD = "well", "open", "bad"
SIGNS = {WELL: ("✔", "green"), OPEN: ("–", "dim"), BAD: ("✘", "red")}


class Finding(NamedTuple):
    state: str
    what: str
    words: str
    advice: str = ""


def judged(what: str, is_well: bool, words: str, advice: str) -> Finding:
    """Well, or bad with advice."""
    return Finding(WELL, what, words) if is_well else Finding(BAD, what, words, advice)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run, epilog="mtd doctor")


def run(options: argparse.Namespace) -> int:
    page = Page()
    bad = 0
    for finding in findings(page):
        bad += finding.state == BAD
        page.tell(SIGNS[finding.state], (f" {finding.what}: ", "bold"), finding.words)
        if finding.advice:
            page.say("to do: " * (finding.state == BAD) + finding.advice, indent=4)
    page.say()
    page.say("All is well." if not bad else f"{bad} to do.", "bold")
    return 1 if bad else 0


def findings(page: Page) -> Iterable[Finding]:
    return chain(_python(), _terminal(page), _network(), _files(), _extras(), _course())


def _python() -> Iterator[Finding]:
    version = f"{platform.python_version()} ({platform.system()}, {os.cpu_count()} cores)"
    yield judged("Python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer")
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    found = ", ".join(f"{name} {metadata.version(name)}" for name in NEEDED if name not in missing)
    yield judged("packages", not missing, found, f"pip install {' '.join(missing)}")
    pins = {name: os.environ[name] for name in PINS if name in os.environ}
    said = ", ".join(f"{name}={value}" for name, value in pins.items()) or "not pinned"
    alone = "with several ranks as processes OMP_NUM_THREADS=1 keeps them from disturbing each other"
    many = pins.keys().isdisjoint(THREADS)
    yield Finding(WELL, "BLAS", f"{_blas()}, {said}", alone if many else "")


def _blas() -> str:
    import numpy

    try:
        built = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f"{built['name']} {built['version']}"
    except (KeyError, TypeError):
        return "unknown"


def _terminal(page: Page) -> Iterator[Finding]:
    console, size = page.console, shutil.get_terminal_size()
    term, colours = os.environ.get("TERM", "unset"), console.color_system or "no colours"
    why = " (NO_COLOR is set)" if console.no_color else ""
    yield judged(
        "terminal",
        size.columns >= 60,
        f"{size.columns}×{size.lines}, TERM={term}, {colours}{why}",
        "make the window at least 60 columns wide; 80 is better",
    )
    encoding = console.encoding or "ascii"
    fine = encoding.lower().replace("-", "").startswith("utf")
    said = f"{encoding} (locale {locale.setlocale(locale.LC_CTYPE)})"
    plain = "pictures have plain letters; PYTHONIOENCODING=utf-8 or a UTF-8 locale brings the fine ones"
    yield Finding(WELL, "letters", said) if fine else Finding(OPEN, "letters", said, plain)


def _network() -> Iterator[Finding]:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        yield Finding(WELL, "loopback", f"a connection went through 127.0.0.1:{port}")
    except OSError as error:
        without = "tcp:// and mqtt:// need it; queue://, sim:// and file:// do without"
        yield Finding(BAD, "loopback", f"nothing goes through 127.0.0.1: {error}", without)
    name = socket.gethostname()
    try:
        found = socket.getaddrinfo(name, None)
        yield Finding(WELL, "host name", f"{name} is {found[0][4][0]}")
    except OSError as error:
        several = "for several machines say MASTER_ADDR and, if need be, GLOO_SOCKET_IFNAME"
        yield Finding(OPEN, "host name", f"{name} has no address ({error})", several)


def _files() -> Iterator[Finding]:
    try:
        with tempfile.NamedTemporaryFile() as file:
            free = shutil.disk_usage(Path(file.name).parent).free
        room = f"in {tempfile.gettempdir()}, {free / 2**30:.1f} GiB free"
        yield judged("temporary files", free > 100 << 20, room, "free some space there, or set TMPDIR")
    except OSError as error:
        yield Finding(BAD, "temporary files", str(error), "set TMPDIR to a folder that can be written to")
    yield _key()


def _key() -> Finding:
    name, otherwise = "the job's key", f"set {keys.VARIABLE} to a long random text"
    if keys.VARIABLE in os.environ:
        return Finding(WELL, name, f"from {keys.VARIABLE}")
    path = Path.home() / keys.FILE
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        if os.access(path.parent, os.W_OK):
            return Finding(WELL, name, f"{path} is made when it is first needed")
        return Finding(BAD, name, f"{path.parent} cannot be written to", otherwise)
    except OSError as error:
        return Finding(BAD, name, str(error), otherwise)
    shown = f"{path}, mode {mode:04o}"
    return judged(name, not mode & 0o077, shown, f"others may read it: chmod 600 {path}")


def _extras() -> Iterator[Finding]:
    for name, (what, how) in EXTRAS.items():
        if importlib.util.find_spec(name) is None:
            yield Finding(OPEN, name, f"is not here; it brings {what}", how)
        else:
            yield Finding(WELL, name, metadata.version(name))
    found = shutil.which("mosquitto")
    missing = "is not here; mqtt:// and mtd broker use our own broker"
    yield Finding(WELL if found else OPEN, "mosquitto", found or missing)


def _course() -> Iterator[Finding]:
    lessons = all_lessons()
    again = "install the package again: its lessons are not there"
    yield judged("lessons", bool(lessons), f"{len(lessons)} in {ROOM}", again)
    try:
        here = workspaces.find()
    except LessonError:
        yield Finding(OPEN, "your course", "there is none yet", "mtd init course")
        return
    progress = here.progress()
    if progress.notice:
        yield Finding(BAD, "progress", progress.notice, "mtd check --all")
    yield judged(
        "your course",
        os.access(here.folder, os.W_OK),
        f"{here.folder}, {len(progress.passed)} passed",
        f"it cannot be written to: chmod u+w {here.folder}",
    )
    lacking = sum(not here.file(one).exists() for one in lessons)
    if lacking:
        yield Finding(OPEN, "new lessons", f"{lacking} are not in it yet", f"mtd init {here.folder}")
