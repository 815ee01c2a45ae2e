"""A schedule beside all others and the bound, in each case. Each case that is done is kept, so the same command goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.schedules import choice, domain, schedule_files
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.replay import Replay
from minitorch_dist.distributed.schedules.schedule import COLLECTIVES, ROOTED, Schedule, ScheduleError, is_address
from minitorch_dist.distributed.schedules.values import Values
from minitorch_dist.inventory.release import __version__
from minitorch_dist.sim import nets, topology_links
from mtd.estimates import Estimate, estimate
from mtd.laboratory.cases import Case
from mtd.pages.kept_file import KeptFile
from mtd.refusals import CannotDo
from transports.plain_text import clean

PROVED: Final = (*range(1, 18), 32, 64)
FAMILY: Final = "minitorch_dist lab"
FORMAT: Final = f"{FAMILY} 1, {__version__}"


@dataclass(frozen=True)
class RaceEntry:
    """One algorithm in one case. Times in picoseconds."""

    algorithm: str
    rounds: int
    messages: int
    sent: int
    time: int
    bound: int


def entered(address: str, collective: str | None = None) -> list[Schedule]:
    """The schedules of a file, or those of this name."""
    if is_address(address):
        path, name, _ = schedule_files.split(address)
        every = schedule_files.in_file(path)
        meant = [one for one in every if not name or name in (one.name, one.steps.__name__)]
        kinds = dict.fromkeys(one.collective for one in meant)
        found = [choice.named(kind, address) for kind in kinds]
    else:
        kinds = dict.fromkeys(kind for kind in COLLECTIVES if address.partition(":")[0] in choice.known(kind))
        found = [choice.named(kind, address) for kind in kinds]
    found = [one for one in found if collective in (None, one.collective)]
    if not found:
        of = f" of {collective}" if collective else ""
        raise CannotDo(f"{address} is no algorithm{of}, and no file of one")
    return found


def proofs(schedule: Schedule, ranks: Sequence[int]) -> Iterator[int]:
    """Prove it for all sizes of its domain up to 17, for 32, 64 and `ranks`, with every root; gives each that is done."""
    asked = {one for one in ranks if one <= domain.ON_DEMAND}
    for size in sorted({*filter(schedule.serves, PROVED)} | asked):
        prove(schedule, size, size if size <= 17 else 0)
        yield size


def prove(schedule: Schedule, size: int, roots: int, refused: type[CannotDo] = CannotDo) -> None:
    """Prove it for so many ranks; of a rooted one so many roots. `refused` says what is wrong."""
    for root in range(roots) if roots and schedule.collective in ROOTED else (None,):
        try:
            domain.prove(schedule, size, root)
        except Exception as error:
            said = str(error).replace(f"{schedule} with {size} ranks: ", "")
            kind = "" if isinstance(error, ScheduleError) else f"{type(error).__name__}: "
            many = f"{size} rank{'s' * (size != 1)}{'' if root is None else f' and root {root}'}"
            raise refused(f"{schedule} is wrong with {many}: {kind}{said}") from error


def other_bits(schedule: Schedule) -> int | None:
    """The first number of ranks of which some add in another order than others, so that their last bits differ."""
    if schedule.collective != "all_reduce":
        return None
    generator = np.random.default_rng(0)
    for size in filter(schedule.serves, range(2, 18)):
        vectors = [generator.random(4 * max(size, schedule.total(size))) for _ in range(size)]
        values = Values(schedule, vectors)
        Replay(schedule, size, vectors[0].nbytes, itemsize=8, contents=values).run()
        if any((values.result(rank) != values.result(0)).any() for rank in range(1, size)):
            return size
    return None


def race(mine: Schedule, case: Case) -> list[RaceEntry]:
    """All algorithms in one case, the fastest first."""
    found = sorted(estimated(mine, case), key=lambda one: one.time)
    return [RaceEntry(e.schedule.algorithm, e.rounds, e.messages, e.max_sent, e.time, e.bound) for e in found]


def estimated(mine: Schedule, case: Case) -> list[Estimate]:
    """Mine, and all others. Of an algorithm with pieces the best number of them."""
    net = nets.read(case.words).topology
    links = topology_links.links_of(net) or Links()
    best = {mine.algorithm: estimate(mine, case.ranks, case.nbytes, net)}
    for schedule in choice.candidates(mine.collective, case.nbytes, links, with_gallery=True):
        if schedule.algorithm == mine.algorithm or not domain.may_run(schedule, case.ranks):
            continue
        found = estimate(schedule, case.ranks, case.nbytes, net)
        if schedule.name not in best or found.time < best[schedule.name].time:
            best[schedule.name] = found
    return [*best.values()]


class LabResults(KeptFile):
    """The results so far, in a file, by the text of the schedule and the case. ValueError for a file that is none."""

    def __init__(self, path: Path, schedule: Schedule, address: str, tell: Callable[[str], object] = len) -> None:
        super().__init__(path, FAMILY, FORMAT, "file of mtd lab", {"rows": _entries}, tell)
        self.mine = f"{schedule} {digest(schedule, address)}"

    def of(self, case: Case, make: Callable[[], list[RaceEntry]]) -> list[RaceEntry]:
        """The entries that are kept for this case, or those that `make` finds."""
        key = json.dumps([self.mine, case.words, case.ranks, case.size])
        found: list[RaceEntry] | None = self.get("rows", key)
        if found is None:
            found = make()
            self.keep("rows", key, [asdict(one) for one in found])
        return found


def _entries(rows: Any) -> list[RaceEntry]:
    """The kept entries of a case; ValueError if they are none that were kept by this program."""
    found = [RaceEntry(**row) for row in rows]
    is_whole = all(
        isinstance(one.algorithm, str)
        and clean(one.algorithm) == one.algorithm
        and all(type(number) is int and number >= 0 for number in astuple(one)[1:])
        for one in found
    )
    if not found or not is_whole:
        raise ValueError("no entries of a race")
    return found


def digest(schedule: Schedule, address: str) -> str:
    """Of the file that a schedule stands in."""
    file = schedule_files.split(address)[0] if is_address(address) else schedule.steps.__code__.co_filename
    return sha256(Path(file).read_bytes()).hexdigest() if Path(file).is_file() else ""
