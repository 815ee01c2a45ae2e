"""The job that a rank belongs to, so that two jobs which meet by accident are told apart.

    launched     whatever starts ranks (launch, spawn, mtdrun, mtd run) draws an id for them and hands it over in
                 MINITORCH_DIST_JOB. Ranks of two ids never meet, and a rank with an id and one without do not, either
    by hand      ranks that are given RANK and MASTER_ADDR only have no id. They are told apart by what must be
                 equal: the world size, and the name of the script. Arguments differ by rank, paths by host

A process and those that it has launched belong together. `spawn` says how many it has started: where the world
is larger, other hosts have started the rest, and what counts is the job outside. An id whose launcher has
ended is what somebody has exported, and says nothing. Any other text in the variable is a job's name, given by hand.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import re
import struct
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from transports import identity, plain_text
from transports.errors import OtherJob
from transports.identity import PeerIdentity
from transports.keys import GENERATION

VARIABLE = "MINITORCH_DIST_JOB"
ELASTIC = "TORCHELASTIC_RUN_ID"  # torchrun's name of a job; "none" where nobody has given one
AGENTS = "agents"  # the id by which agents, and their workers, come to an agent's store
NO_SCRIPTS = ("-c", "-m", "-", "ipython", "ipython3", "ipykernel_launcher.py", "colab_kernel_launcher.py")
DEPTH = 8  # of jobs within jobs
_MARKS = struct.Struct("<16s8s8s8si")


class JobMarks(NamedTuple):
    """All by which two jobs are compared, of fixed length. Names are digests: they go to ports of strangers, too."""

    id: bytes = b""  # empty: by hand
    launcher: bytes = b""  # the process that has launched it
    process: bytes = b""  # this one
    script: bytes = b""  # empty: not known, or not to be compared
    size: int = 0  # of the world; 0: not known

    def packed(self) -> bytes:
        return _MARKS.pack(*self)


LENGTH = _MARKS.size
NOBODY = JobMarks()


def unpacked(data: bytes) -> JobMarks:
    """The marks in these bytes; ValueError if there are none."""
    if len(data) != LENGTH:
        raise ValueError(f"{len(data)} bytes are no marks of a job, which are {LENGTH}")
    id, launcher, process, script, size = _MARKS.unpack(data)
    id, launcher, process, script = (text.rstrip(b"\0") for text in (id, launcher, process, script))
    return JobMarks(id, launcher, process, script, size)


def are_apart(one: JobMarks, other: JobMarks) -> bool:
    """Whether these belong to two jobs, as far as can be known."""
    if one.launcher and one.launcher == other.process:
        return False
    if other.launcher and other.launcher == one.process:
        return False
    if one.id or other.id:
        return one.id != other.id
    both = bool(one.size and other.size)
    is_other_script = bool(one.script and other.script) and one.script != other.script
    return both and (is_other_script or one.size != other.size)


@dataclass(frozen=True)
class Launched:
    """A part of what the variable says: one job in which this process stands. The innermost comes last."""

    id: str
    ranks: int = 0  # that were launched; 0: all there are
    name: str = ""  # given by people, like --rdzv-id
    script: str = ""
    user: str = ""
    since: str = ""
    by: PeerIdentity | None = None

    def is_over(self, here: PeerIdentity) -> bool:
        """Whether its launcher has ended, as far as that can be seen."""
        return self.by is not None and self.by.is_watched_from(here) and not self.by.is_alive()


@dataclass(frozen=True)
class JobCard:
    """One process's part in a job."""

    launched: Launched | None  # None: by hand
    script: str
    size: int
    rank: int
    process: PeerIdentity
    user: str
    since: str
    realm: str = ""  # instead of the id

    @property
    def id(self) -> str:
        return self.launched.id if self.launched is not None else ""

    @property
    def plain_id(self) -> str:
        """The id as a part of a topic."""
        return re.sub(r"[^0-9A-Za-z_.-]", "_", self.id)

    def marks(self) -> JobMarks:
        launcher = None if self.launched is None else self.launched.by
        processes = _process_mark(launcher), _process_mark(self.process)
        return JobMarks(_digest(self.realm or self.id, 16), *processes, _digest(self.script), self.size)

    def among_agents(self) -> JobCard:
        """The same, on the way to the store that agents keep, where jobs have prefixes of their own."""
        return replace(self, realm=AGENTS)

    def demand_same(self, where: str, marks: JobMarks, text: str, advice: str) -> None:
        """OtherJob where what is met at `where` belongs to another job, which says `text` of itself."""
        if are_apart(self.marks(), marks):
            raise self.refusal(where, text, advice)

    def refusal(self, where: str, text: str, advice: str) -> OtherJob:
        return OtherJob(
            f"{where} belongs to another job: {text}. This rank's job is {self}, and two jobs do not meet. {advice}. (Ranks of one "
            f"job are started by one launcher, which hands them {VARIABLE}; those that are started by hand have the same "
            "world size and the same script)"
        )

    def __str__(self) -> str:
        launched = self.launched
        rank = f"rank {self.rank}, " if self.rank >= 0 else ""
        me = f"{rank}process {self.process.pid} of {self.user} on {self.process.host}"
        if launched is None:
            size = f" with a world size of {self.size}" if self.size else ""
            return clean(f"{self.script or 'Python'}, started by hand{size} ({me}, since {self.since})")
        is_launcher = launched.by == self.process  # another program than its ranks
        own = "" if is_launcher else self.script
        name = f" {launched.name!r}" if launched.name else ""
        count = self.size or launched.ranks
        size = f" with {count} rank{'s' * (count != 1)}" if count else ""
        begun = f", launched at {launched.since}" if launched.since else ""
        by = f" by process {launched.by.pid} of {launched.user} on {launched.by.host}" if launched.by else ""
        script = own or launched.script or "Python"
        here = "" if is_launcher else f" ({me})"
        return clean(f"job {launched.id}{name} of {script}{size}{begun}{by}{here}")


def clean(text: str, most: int = 480) -> str:
    """One line of limited length, without what a terminal would obey."""
    return plain_text.clean(text, lines=False)[:most]


def draw(ranks: int = 0, script: str = "", name: str = "", id: str = "") -> str:
    """The variable's value for ranks that this process is about to launch: a new job, within those we are in."""
    mine = Launched(
        id or os.urandom(8).hex(), ranks, name[:40], (script or script_name())[:60], _user(), _now(), identity.here()
    )
    return json.dumps([asdict(each) for each in [*read(os.environ.get(VARIABLE, "")), mine][-DEPTH:]])


def read(value: str) -> list[Launched]:
    """The jobs that launchers wrote there, or the one whose name somebody gave."""
    try:
        levels = json.loads(value) if value.startswith("[") else []
        found = [_level(**level) for level in levels]
    except (ValueError, TypeError):
        found = []
    return found or ([Launched(clean(value.strip(), 40))] if value.strip() else [])


def _level(ranks: int, by: Any, **texts: str) -> Launched:
    """TypeError where this is not of the right types."""
    launcher = None if by is None else PeerIdentity(**by)
    is_right = isinstance(ranks, int) and all(isinstance(text, str) for text in texts.values())
    numbers = () if launcher is None else (launcher.pid, launcher.started)
    if not is_right or not all(isinstance(number, int) for number in numbers) or not texts["id"]:
        raise TypeError("a launcher writes something else")
    return Launched(ranks=ranks, by=launcher, **texts)


def here(size: int = 0, rank: int = -1, value: str | None = None) -> JobCard:
    """The job of this process in a world of `size` ranks (0: it is not known which)."""
    process = identity.here()
    levels = read(os.environ.get(VARIABLE, "") if value is None else value)
    levels = [level for level in levels if not level.is_over(process)]
    whole = [level for level in levels if not level.ranks or 0 < size <= level.ranks]
    elastic = os.environ.get(ELASTIC, "none")
    if whole or levels or elastic == "none":
        launched = whole[-1] if whole else None
    else:
        launched = Launched(clean(elastic, 40))
    return JobCard(launched, script_name()[:60], size, rank, process, _user(), _now())


def world_name(size: int) -> str:
    """The job's id and generation, in 64 bytes at most; empty where ranks are started by hand, once."""
    return "/".join(filter(None, (here(size).id[:40], os.environ.get(GENERATION, "").rpartition("/")[2][:20])))


def script_name() -> str:
    """The name of the program, without its folder; empty where somebody types, also into a notebook, or for `python -c`."""
    path = Path(sys.argv[0] if sys.argv else "")
    if path.name == "__main__.py":
        return path.parent.name
    return "" if path.name in NO_SCRIPTS else path.name


def _user() -> str:
    try:
        return getpass.getuser()[:32]
    except (OSError, KeyError, ImportError):
        return "somebody"


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")


def _digest(text: str, length: int = 8) -> bytes:
    """No digest ends with a zero, which fills up what is short."""
    return hashlib.sha256(text.encode(errors="replace")).digest()[: length - 1] + b"." if text else b""


def _process_mark(process: PeerIdentity | None) -> bytes:
    if process is None:
        return b""
    return _digest(f"{process.boot} {process.numbers} {process.pid} {process.started}")
