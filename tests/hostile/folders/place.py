"""One hostile folder, a visit of the library to it, and the verdict.

others     have files there, some with names like ours, and a secret beside the folder
first      perhaps we were there before, so that there is something of ours
spoil      some of it is replaced by a FIFO, a link, a folder, other bytes …; or it changes while we are there
visit      returns, or raises its one documented error, in seconds
after      nothing of others has changed, no draft and no lock is left, and without what was odd all is well again
"""

from __future__ import annotations

import os
import shutil
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests import odd_files
from tests.hostile.judging import Hang, Verdict
from tests.hostile.running import Tried, fork
from transports import keeper
from transports.keeper import drafts, locks

SECONDS = 20.0  # for a visit, on a machine with other work
KINDS = (*odd_files.KINDS, "device", "nothing", "empty", "other bytes", "a flipped bit", "cut", "huge", "closed")
NAMES = (
    "model.safetensors.index.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
    "0123456789ab-00000-of-00001.safetensors", ".index.json.12.0.tmp", ".x-of-y.safetensors.1.tmp", "run.mtd.0",
    ".minitorch_dist-0123456789abcdef-01234567.draft", "minitorch-dist.rings", "store", "-rf", "a b\n", "é",
)  # fmt: skip


class Visit(NamedTuple):
    """A use of the library in a folder."""

    name: str
    first: Callable[[Path], None]  # makes what the visit expects
    visit: Callable[[Path], Any]
    refusals: tuple[type[BaseException], ...]
    places: tuple[str, ...]  # names of files of ours, which others may have taken
    kinds: tuple[str, ...] = KINDS  # of odd things that may stand there
    replaces: Callable[[Any], bool] = lambda content: True  # a regular file with this content in a place of ours


class Folders:
    def __init__(self, visit: Visit, seed: int, folder: Path) -> None:
        self.visit, self.seed, self.folder = visit, seed, folder
        signal.signal(signal.SIGALRM, _ring)

    def attempt(self, number: int) -> Tried:
        random = Random(f"{self.visit.name}/{self.seed}/{number}")
        top = self.folder / f"{number}"
        place = top / "in"
        place.mkdir(parents=True)
        try:
            return Tried(self._judged(random, top, place))
        finally:
            _open_all(top)
            shutil.rmtree(top)

    def close(self) -> None: ...

    def _judged(self, random: Random, top: Path, place: Path) -> Verdict:
        (top / "secret").write_bytes(b"a secret of others")
        (place / "victim").write_bytes(b"of others")
        for name in random.sample(NAMES, random.randrange(6)):
            odd = random.random() < 0.2
            put(random.choice(odd_files.KINDS) if odd else "other bytes", place / name, random)
        others = {path.name for path in place.iterdir()}
        if random.random() < 0.8:
            for _ in range(random.choice((1, 2, 3))):
                self.visit.first(place)
        ours = [path.name for path in place.iterdir() if path.name not in others]
        spoilt = set()
        for _ in range(random.choice((0, 1, 1, 1, 2))):
            name = random.choice((*ours, *self.visit.places))
            if put(random.choice(self.visit.kinds), place / name, random):
                spoilt.add(name)
        before = odd_files.snapshot(top)
        saboteur = self._saboteur(random, place, ours) if ours and random.random() < 0.2 else 0
        verdict = self._visit(place)
        if saboteur:
            os.kill(saboteur, signal.SIGKILL)
            os.waitpid(saboteur, 0)
        if verdict.has_fallen:
            return verdict
        return self._wrong(top, place, before, others, spoilt, bool(saboteur)) or verdict

    def _visit(self, place: Path) -> Verdict:
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, SECONDS)
                self.visit.visit(place)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except self.visit.refusals:
            return Verdict("refused")
        except BaseException as error:
            why = f"{type(error).__name__}: {error}".partition("\n")[0]
            return Verdict("fell", why[:300], "".join(traceback.format_exception(error)))
        return Verdict("accepted")

    def _wrong(
        self, top: Path, place: Path, before: dict[str, Any], others: set[str], spoilt: set[str], is_wild: bool
    ) -> Verdict | None:
        """A fall, if anything is not as it has to be afterwards."""
        after = odd_files.snapshot(top)
        kept = {"secret", "in", *(f"in/{name}" for name in others)}
        kept |= set() if is_wild else {f"in/{n}" for n in spoilt if not self._may_be_replaced(before.get(f"in/{n}"))}
        changed = sorted(name for name in kept if before.get(name) != after.get(name))
        if changed:
            return Verdict("fell", f"changed what is of others: {changed}")
        strange = [name for name in after if name not in before and "/" not in name]
        if strange:
            return Verdict("fell", f"wrote outside of its folder: {strange}")
        left = [name for name in keeper.names(place) if name not in others | spoilt and _is_left(name)]
        if left:
            return Verdict("fell", f"left behind: {left}")
        _open_all(place)
        for name in keeper.names(place):
            if name not in others:
                _take_away(place / name)
        try:
            self.visit.first(place)
            self.visit.visit(place)
        except BaseException as error:
            trace = "".join(traceback.format_exception(error))
            return Verdict("fell", f"does not recover: {type(error).__name__}: {error}"[:300], trace)
        return None

    def _may_be_replaced(self, there: Any) -> bool:
        """A regular file in the place of ours may be a damaged one of ours, which the next save replaces."""
        return there is None or (there[0] == 0o100000 and self.visit.replaces(there[1]))

    def _saboteur(self, random: Random, place: Path, ours: list[str]) -> int:
        """A process that cuts, replaces and removes our files while we are there."""
        pid = fork()
        if pid:
            return pid
        try:
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                path = place / random.choice(ours)
                with suppress(OSError):
                    match random.randrange(4):
                        case 0:
                            with keeper.Held(keeper.open_file(path, os.O_RDWR)) as held:
                                os.ftruncate(held.number, random.randrange(600))
                        case 1:
                            path.unlink()
                        case 2:
                            kinds = set(self.visit.kinds) & {"fifo", "link", "itself", "folder"}
                            put(random.choice(sorted(kinds)), path, random)
                        case _:
                            put("other bytes", path, random)
                time.sleep(random.random() / 1000)
        finally:
            os._exit(0)


def put(kind: str, path: Path, random: Random) -> bool:
    """Put something there, or do something to the file that is there. False if that cannot be."""
    data = b"of others, too"
    with suppress(OSError):
        data = keeper.read_file(path, 1 << 20)
    with suppress(OSError):
        if kind == "closed":
            path.chmod(0)
            return True
        _take_away(path)
        match kind:
            case "device":
                path.symlink_to("/dev/zero")
            case "nothing":
                pass
            case "empty":
                path.touch()
            case "other bytes":
                path.write_bytes(random.randbytes(random.randrange(200)))
            case "a flipped bit":
                bent = bytearray(data or b"x")
                bent[random.randrange(len(bent))] ^= 1 << random.randrange(8)
                path.write_bytes(bent)
            case "cut":
                path.write_bytes(data[: random.randrange(len(data) + 1)])
            case "huge":
                path.touch()
                os.truncate(path, 1 << 40)
            case _:
                odd_files.put(kind, path)
        return True
    return False


def _is_left(name: str) -> bool:
    return drafts.is_draft(name) or name == locks.LOCK


def _take_away(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _open_all(top: Path) -> None:
    for path in top.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(0o600)


def _ring(*_: object) -> None:
    raise Hang(f"it has been at it for {SECONDS:g} s")
