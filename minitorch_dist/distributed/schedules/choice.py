"""Which algorithm: the one that was asked for, or the one that costs least on these links.

    algorithm="ring"                            in the call
    MINITORCH_DIST_ALL_REDUCE_ALGORITHM=ring    for one collective
    MINITORCH_DIST_ALGORITHM=ring               for all that have one of that name
    MINITORCH_DIST_ALGORITHM=mine.py            for all that this file has one for (see `schedule_files`)

and otherwise `auto`: the one wins that takes the least time with this vector and these links (`race`). Formulas say
what each takes at least (see `formulas`), and only what may be the cheapest is played. An algorithm may carry options: "chain:pieces=16". All ranks must choose alike; with
`auto` they do, because they know the same sizes and the same links.

A schedule of your own joins with `register_schedule`, which first has it proved. It runs only among as many ranks as it
is proved for (see `domain`):

    @register_schedule("all_reduce", "mine", chunks=lambda size: size)
    def mine(rank, size):
        yield Exchange(…)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from heapq import heapify, heapreplace
from types import MappingProxyType
from typing import Any, Final

from minitorch_dist.distributed.schedules import domain as domains, overtaking, postings, schedule_files
from minitorch_dist.distributed.schedules.arrivals import latest
from minitorch_dist.distributed.schedules.formulas import least
from minitorch_dist.distributed.schedules.links import Links, TwoLevelLinks
from minitorch_dist.distributed.schedules.ports import PortTimes
from minitorch_dist.distributed.schedules.schedule import (
    BUILT_IN,
    COLLECTIVES,
    GALLERY,
    REGISTERED,
    Schedule,
    ScheduleError,
    UnknownOption,
    any_number,
    is_address,
    is_loading,
    one_per_rank,
)
from minitorch_dist.distributed.schedules.steps import Steps

PIECES: Final = {"chain": (1, 4, 16, 64), "double_binary_tree": (1, 4, 16)}
SHORTEST_PIECE: Final = 4096  # bytes; shorter ones are not worth their bill
FEW: Final = 4  # ranks; with more of them a bill is drawn up faster than messages are played
# Ranks whose blocks differ could not tell alike; of others the cost of a link says nothing (see `gallery`).
ONLY_IF_ASKED: Final = {("all_to_all", "bruck"), ("all_to_all", "rails")}
BY_NAME_ONLY: Final = ("bine", "pat", "recursive_multiplying", "swing")
changes: Final[list[str]] = []  # every schedule that was registered or forgotten


def known(collective: str) -> dict[str, Schedule]:
    """The schedules of a collective by name, one's own last."""
    import minitorch_dist.distributed.schedules.gallery  # noqa: F401 - it fills GALLERY

    every = {**BUILT_IN, **GALLERY, **REGISTERED}
    return {name: found for (kind, name), found in every.items() if kind == collective}


def choose(
    collective: str,
    size: int,
    nbytes: int,
    links: Links | None = None,
    algorithm: str | Schedule | None = None,
    on_board: bool = False,
    root: int | None = None,
) -> Schedule:
    """The schedule for `size` ranks and a vector of `nbytes` (see `Schedule.sizes` for whose).
    `on_board`: they read each other's memory (`postings`)."""
    wanted = algorithm or _from_environment(collective) or "auto"
    if wanted != "auto":
        found = named(collective, wanted)
        if BUILT_IN.get((collective, found.name)) is not found:
            domains.demand(found, size, root)
        return found
    rounded = 1 << max(nbytes - 1, 0).bit_length()  # one choice for all vectors of about this size
    if not REGISTERED:
        root = None  # ours do the same with every root
    return _cheapest(collective, size, rounded, links or Links(), on_board, len(changes), root)


def named(collective: str, algorithm: str | Schedule) -> Schedule:
    """`ring`, or with options `chain:pieces=16`; or a file, `mine.py` (see `schedule_files`)."""
    if isinstance(algorithm, Schedule):
        if algorithm.collective != collective:
            raise ValueError(f"{algorithm} is not a schedule of {collective}")
        return algorithm
    name, _, given = algorithm.partition(":")
    if is_address(algorithm):
        found, given = schedule_files.find(collective, algorithm), schedule_files.split(algorithm)[2]
    else:
        found = known(collective).get(name)
    if found is None:
        raise ValueError(
            f"no algorithm {name!r} for {collective}; there are auto, {', '.join(known(collective))}, "
            "and files of your own, such as mine.py"
        )
    if not given:
        return found
    try:
        return _with_options(found, given)
    except UnknownOption:
        raise
    except ValueError as error:
        raise ValueError(f"the options of {algorithm!r} must be like pieces=16, with whole numbers") from error


@lru_cache(maxsize=256)
def _with_options(schedule: Schedule, given: str) -> Schedule:
    options = dict(pair.split("=", 1) for pair in given.split(",") if pair)
    return schedule.with_options(**{key.strip(): int(value) for key, value in options.items()})


def prefer(algorithm: str) -> None:
    """From here on, and in processes that are started, it is as if MINITORCH_DIST_ALGORITHM named this algorithm.
    ValueError if there is no such thing."""
    if is_address(algorithm):
        path, *_ = schedule_files.split(algorithm)
        for one in schedule_files.in_file(path):
            if schedule_files.find(one.collective, algorithm):
                named(one.collective, algorithm)
        algorithm = f"{path.resolve()}{algorithm.removeprefix(str(path))}"
    else:
        _checked_name(algorithm)
    os.environ["MINITORCH_DIST_ALGORITHM"] = algorithm


def preferred() -> list[str]:
    """The algorithm that the environment names, if any; of a file also a digest of its text."""
    name = os.environ.get("MINITORCH_DIST_ALGORITHM", "")
    if not is_address(name):
        return [name] * bool(name)
    return [name, sha256(schedule_files.split(name)[0].read_bytes()).hexdigest()]


@contextmanager
def preferring(algorithm: str) -> Iterator[None]:
    """Within the block it is as if MINITORCH_DIST_ALGORITHM named this algorithm."""
    name = "MINITORCH_DIST_ALGORITHM"
    before = os.environ.get(name)
    os.environ[name] = algorithm
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _from_environment(collective: str) -> str | None:
    own = os.environ.get(f"MINITORCH_DIST_{collective.upper()}_ALGORITHM")
    if own:
        return own
    every = os.environ.get("MINITORCH_DIST_ALGORITHM")
    return every if every and _is_for(every, collective) else None


def _is_for(every: str, collective: str) -> bool:
    """Whether an algorithm that was named for all collectives has this one."""
    if is_address(every):
        return schedule_files.find(collective, every) is not None
    return _checked_name(every) in known(collective)


def _checked_name(every: str) -> str:
    """The name of an algorithm for all collectives, which at least one of them must have."""
    name = every.partition(":")[0]
    if name != "auto" and not any(name in known(kind) for kind in COLLECTIVES):
        names = sorted({name for kind in COLLECTIVES for name in known(kind)})
        raise ValueError(
            f"MINITORCH_DIST_ALGORITHM={every}: no collective has an algorithm {name!r}; there are "
            f"auto, {', '.join(names)}, and files of your own, such as mine.py"
        )
    return name


@lru_cache(maxsize=4096)
def _cheapest(
    collective: str, size: int, nbytes: int, links: Links, on_board: bool, of_version: int, root: int | None = None
) -> Schedule:
    every = list(candidates(collective, nbytes, links))
    if REGISTERED:
        every = [one for one in every if domains.may_run(one, size, root)]
    find = _least_bill if on_board else race
    best = find(every, size, nbytes, links)
    if best is None:
        raise ScheduleError(f"no schedule of {collective} can do {size} ranks")
    return best


def _least_bill(schedules: Iterable[Schedule], size: int, nbytes: int, links: Links) -> Schedule | None:
    fit = [schedule for schedule in schedules if postings.is_fit(schedule, size, None)]
    return min(fit, key=lambda schedule: postings.bill(schedule, size, nbytes, links), default=None)


def race(schedules: Sequence[Schedule], size: int, nbytes: int, links: Links) -> Schedule | None:
    """The one that takes the least time, the first among equals. None if none can do so many ranks.

    Each one stands at the time that its formula promises, and the one that is behind goes on in virtual time. If the
    formula is exact, it has arrived. So most are never asked for a step, and nobody draws up the bill of a ring of
    10,000 ranks to learn that it is long.
    """
    promised = [least(schedule, size, nbytes, links) for schedule in schedules]
    behind = [(promise.time, place) for place, promise in enumerate(promised)]
    heapify(behind)
    runners: dict[int, Iterator[int]] = {}
    while behind:
        _, place = behind[0]
        if promised[place].is_exact:
            return schedules[place]
        if place not in runners:
            runners[place] = _runner(schedules[place], size, nbytes, links)
        now = next(runners[place], None)
        if now is None:
            return schedules[place]
        heapreplace(behind, (now, place))
    return None


def _runner(schedule: Schedule, size: int, nbytes: int, links: Links) -> Iterator[int]:
    """The times to which a schedule comes, the last of which is when it is over."""
    if size > FEW or not domains.is_built_in(schedule):
        return latest(schedule, size, nbytes, links)
    finish, *_ = overtaking.play(schedule, schedule.sizes(size, nbytes), links, PortTimes.free(size))
    return iter([int(finish.max())])


def candidates(collective: str, nbytes: int, links: Links, with_gallery: bool = False) -> Iterable[Schedule]:
    """The algorithms that `auto` compares, in the order that decides between equals; or those of the gallery as well."""
    for name, found in known(collective).items():
        if not with_gallery and (name in BY_NAME_ONLY or (collective, name) in ONLY_IF_ASKED):
            continue
        if "per_node" in found.options:
            if isinstance(links, TwoLevelLinks):
                yield _with_options(found, f"per_node={links.per_node}")
        elif "pieces" in found.options:
            for pieces in PIECES.get(name, (1, 4, 16)):
                if pieces == 1 or nbytes >= pieces * SHORTEST_PIECE:
                    yield _with_options(found, f"pieces={pieces}")
        else:
            yield found


def register_schedule(
    collective: str,
    name: str,
    chunks: Callable[..., int] = one_per_rank,
    *,
    domain: Callable[..., bool] | Iterable[int] = any_number,
    sizes: Iterable[int] | None = None,
    **options: Any,
) -> Callable[[Callable[..., Steps]], Schedule]:
    """Make a generator of steps an algorithm of `collective`, called `name`, on every rank alike.

    `chunks` and `domain` are functions of the number of ranks, and of the options: how many chunks a vector has, and
    whether it is made for so many. `domain` may also be a list. It is proved for worlds of `sizes`, or for all up
    to 9 that it is made for; ScheduleError says what is wrong with it. Others are proved when they are first needed.
    """

    def register(steps: Callable[..., Steps]) -> Schedule:
        made = Schedule(collective, name, steps, chunks, MappingProxyType(options), domain=domains.among(domain))
        if name == "auto" or (name in known(collective) and (collective, name) not in REGISTERED):
            raise ValueError(f"{name!r} is the name of a built-in algorithm of {collective}")
        domains.register(made, sizes)
        if not is_loading.get():
            REGISTERED[collective, name] = made
            changes.append(f"+{made}")
        return made

    return register


def forget_schedule(collective: str, name: str) -> None:
    """Take back `register_schedule`."""
    made = REGISTERED.pop((collective, name))
    changes.append(f"-{made}")
