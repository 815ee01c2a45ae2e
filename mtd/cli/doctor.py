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
from collections.abc import Iterator
from importlib import metadata
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
}  # fmt: skip
WELL, OPEN, BAD = "well", "open", "bad"
SIGNS = {WELL: ("✔", "green"), OPEN: ("–", "dim"), BAD: ("✘", "red")}


class Finding(NamedTuple):
    state: str
    what: str
    words: str
    advice: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run, epilog="mtd doctor")


def run(options: argparse.Namespace) -> int:
    page = Page()
    bad = 0
    for finding in findings(page):
        bad += finding.state == BAD
        page.tell(SIGNS[finding.state], (f" {finding.what}: ", "bold"), finding.words)
        if finding.advice:
            page.say(
                f"to do: {finding.advice}" if finding.state == BAD else finding.advice, indent=4
            )
    page.say()
    page.say("All is well." if not bad else f"{bad} to do.", "bold")
    return 1 if bad else 0


def findings(page: Page) -> Iterator[Finding]:
    yield from _python()
    yield from _terminal(page)
    yield from _network()
    yield from _files()
    yield from _extras()
    yield from _course()


def _python() -> Iterator[Finding]:
    version = platform.python_version()
    is_new = sys.version_info >= (3, 11)
    yield Finding(
        WELL if is_new else BAD, "Python", f"{version} ({platform.system()}, {os.cpu_count()} cores)",
        "" if is_new else "install Python 3.11 or newer",
    )  # fmt: skip
    missing, found = [], []
    for name in NEEDED:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    yield Finding(
        BAD if missing else WELL, "packages", ", ".join(found),
        f"pip install {' '.join(missing)}" if missing else "",
    )  # fmt: skip
    pins = {
        name: os.environ[name]
        for name in (
            "OMP_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "MKL_NUM_THREADS",
            "OPENBLAS_CORETYPE",
        )
        if name in os.environ
    }
    said = ", ".join(f"{name}={value}" for name, value in pins.items()) or "not pinned"
    many = pins.keys().isdisjoint({"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"})
    yield Finding(
        WELL, "BLAS", f"{_blas()}, {said}",
        "with several ranks as processes OMP_NUM_THREADS=1 keeps them from disturbing each other" if many else "",
    )  # fmt: skip


def _blas() -> str:
    import numpy

    try:
        built = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f"{built['name']} {built['version']}"
    except (KeyError, TypeError):
        return "unknown"


def _terminal(page: Page) -> Iterator[Finding]:
    console = page.console
    size = shutil.get_terminal_size()
    colours = console.color_system or "no colours"
    term = os.environ.get("TERM", "unset")
    why = " (NO_COLOR is set)" if console.no_color else ""
    wide = size.columns >= 60
    yield Finding(
        WELL if wide else BAD, "terminal", f"{size.columns}×{size.lines}, TERM={term}, {colours}{why}",
        "" if wide else "make the window at least 60 columns wide; 80 is better",
    )  # fmt: skip
    encoding = console.encoding or "ascii"
    fine = encoding.lower().replace("-", "").startswith("utf")
    yield Finding(
        WELL if fine else OPEN, "letters", f"{encoding} (locale {locale.setlocale(locale.LC_CTYPE)})",
        "" if fine else "pictures are drawn with plain letters; PYTHONIOENCODING=utf-8 or a UTF-8 locale brings the fine ones",
    )  # fmt: skip


def _network() -> Iterator[Finding]:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
                other, _ = server.accept()
                with other:
                    client.sendall(b"?")
                    said = other.recv(1)
        yield Finding(
            WELL if said == b"?" else BAD, "loopback", f"a byte went through 127.0.0.1:{port}"
        )
    except OSError as error:
        yield Finding(
            BAD, "loopback", f"nothing goes through 127.0.0.1: {error}",
            "tcp:// and mqtt:// need it; queue://, sim:// and file:// do without",
        )  # fmt: skip
    try:
        found = socket.getaddrinfo(socket.gethostname(), None)
        yield Finding(WELL, "host name", f"{socket.gethostname()} is {found[0][4][0]}")
    except OSError as error:
        yield Finding(
            OPEN, "host name", f"{socket.gethostname()} has no address ({error})",
            "for several machines say MASTER_ADDR and, if need be, GLOO_SOCKET_IFNAME",
        )  # fmt: skip


def _files() -> Iterator[Finding]:
    try:
        with tempfile.NamedTemporaryFile() as file:
            free = shutil.disk_usage(Path(file.name).parent).free
        fine = free > 100 << 20
        yield Finding(
            WELL if fine else BAD, "temporary files", f"in {tempfile.gettempdir()}, {free / 2**30:.1f} GiB free",
            "" if fine else "free some space there, or set TMPDIR",
        )  # fmt: skip
    except OSError as error:
        yield Finding(
            BAD, "temporary files", str(error), "set TMPDIR to a folder that can be written to"
        )
    if keys.VARIABLE in os.environ:
        yield Finding(WELL, "the job's key", f"from {keys.VARIABLE}")
        return
    path = Path.home() / keys.FILE
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        fine = os.access(path.parent, os.W_OK)
        yield Finding(
            WELL if fine else BAD, "the job's key", f"{path} is made when it is first needed" if fine else f"{path.parent} cannot be written to",
            "" if fine else f"set {keys.VARIABLE} to a long random text",
        )  # fmt: skip
        return
    except OSError as error:
        yield Finding(
            BAD, "the job's key", str(error), f"set {keys.VARIABLE} to a long random text"
        )
        return
    fine = not mode & 0o077
    yield Finding(
        WELL if fine else BAD, "the job's key", f"{path}, mode {mode:04o}",
        "" if fine else f"others may read it: chmod 600 {path}",
    )  # fmt: skip


def _extras() -> Iterator[Finding]:
    for name, (what, how) in EXTRAS.items():
        if importlib.util.find_spec(name) is None:
            yield Finding(OPEN, name, f"is not here; it brings {what}", how)
        else:
            yield Finding(WELL, name, metadata.version(name))
    found = shutil.which("mosquitto")
    yield Finding(
        WELL if found else OPEN, "mosquitto", found or "is not here; mqtt:// and mtd broker use our own broker",
    )  # fmt: skip


def _course() -> Iterator[Finding]:
    lessons = all_lessons()
    yield Finding(
        WELL if lessons else BAD, "lessons", f"{len(lessons)} in {ROOM}",
        "" if lessons else "install the package again: its lessons are not there",
    )  # fmt: skip
    try:
        here = workspaces.find()
    except LessonError:
        yield Finding(OPEN, "your course", "there is none yet", "mtd init course")
        return
    progress = here.progress()
    if progress.notice:
        yield Finding(BAD, "progress", progress.notice, "mtd check --all")
    fine = os.access(here.folder, os.W_OK)
    yield Finding(
        WELL if fine else BAD, "your course", f"{here.folder}, {len(progress.passed)} passed",
        "" if fine else f"it cannot be written to: chmod u+w {here.folder}",
    )  # fmt: skip
    lacking = [one.folder.name for one in lessons if not here.file(one).exists()]
    if lacking:
        yield Finding(
            OPEN, "new lessons", f"{len(lacking)} are not in it yet", f"mtd init {here.folder}"
        )
