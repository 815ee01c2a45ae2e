"""From nothing to a world and back: `init_process_group` and `destroy_process_group`.

    rendezvous ──► store ──► generation ──► transport.connect ──► World, with its default group

Every init counts in the store how often this rank was here. That number is a prefix for all keys that follow, so
destroy and init again with the same store meets no leftovers; and a rank that comes while another process with that
rank is still there gets an error that says so.
"""

from __future__ import annotations

import atexit
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from types import MethodType, TracebackType
from typing import Any, Final, NamedTuple

from minitorch_dist.distributed import backends, exit_check, forked, rendezvous, slow_start, traces, world
from minitorch_dist.distributed.backends import Backend
from minitorch_dist.distributed.exceptions import DistError, DistNetworkError, DistStoreError
from minitorch_dist.distributed.flight import FlightRecorder
from minitorch_dist.distributed.groups import ProcessGroup, everybody
from minitorch_dist.distributed.mail.mailbox import Mailbox
from minitorch_dist.distributed.world import World
from transports import job, registry
from transports.clock import Deadline
from transports.contract import Transport
from transports.errors import OtherJob
from transports.plain_text import clean
from transports.stores.store import PrefixStore, Store

TIMEOUT: Final = rendezvous.TIMEOUT
RETRY: Final = 0.05  # seconds
HASTE: Final = 2.0  # seconds for telling a peer that we fail
LINGER: Final = 10.0  # seconds for what was said last, when a script ends
DEPARTURE: Final = 5.0  # seconds in which the store has to hear that we leave
MAX_TRACE: Final = 6000  # characters


def check_arguments(init_method: str | None, store: Store | None, world_size: int, rank: int) -> str | None:
    """torch's checks of what must not be given together; the init method that results."""
    if world.is_here() and "fresh" not in world.place().given:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None:
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
        return None
    return init_method or "env://"


def check_timeout(timeout: Any) -> None:
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")


class WorldRequest(NamedTuple):
    """The arguments of a rank that asks for a world. It gives a store, or the address of one."""

    name: Backend
    init_method: str | None
    timeout: timedelta
    world_size: int
    rank: int
    store: Store | None
    options: Any


def init(
    backend: str | None,
    init_method: str | None,
    timeout: timedelta | None,
    world_size: int,
    rank: int,
    store: Store | None,
    options: Any = None,
) -> World:
    """Make this rank's world; the arguments have passed `check_arguments`."""
    name = Backend(Backend.UNDEFINED if backend is None else backend)
    if timeout is not None:
        check_timeout(timeout)
    given = world.place().given
    if "fresh" in given:
        return _adopt(name, timeout, world_size, rank, given)
    timeout = TIMEOUT if timeout is None else timeout
    if "store" in given and store is None and init_method == "env://":
        store = given["store"]
        rank = given["rank"] if rank < 0 else rank
        world_size = given["world_size"] if world_size < 0 else world_size
    if name == Backend.MPI and store is None and init_method == "env://":
        init_method, rank = "mpi://", -1  # MPI knows who we are, as torch has it
    clock = world.place().clock
    deadline = clock.deadline(timeout.total_seconds())
    with slow_start.saying("init_process_group", clock) as word:
        return _begin(WorldRequest(name, init_method, timeout, world_size, rank, store, options), deadline, word)


def _begin(asked: WorldRequest, deadline: Deadline, word: slow_start.Word) -> World:
    """Find the store, and the others in it."""
    place, init_method = world.place(), asked.init_method
    while True:
        found, rank, size = asked.store, asked.rank, asked.world_size
        try:
            if found is None:
                assert init_method is not None
                word.what = partial(slow_start.of_store, init_method)
                found, rank, size = rendezvous.rendezvous(init_method, rank, size, asked.timeout)
                found.set_timeout(asked.timeout)
            word.what = partial(slow_start.of_ranks, PrefixStore("default_pg", found), size)
            return _join(asked, found, rank, size, deadline)
        except BaseException as error:
            if found is None or found is asked.store:
                raise
            found.close()
            may_pass = isinstance(error, DistNetworkError) and not isinstance(error, OtherJob)
            if not may_pass or not place.given.get("was_here") or deadline.is_over():
                raise
            place.clock.sleep(RETRY)  # the store was the last world's, which its master left only now


def _adopt(name: Backend, timeout: timedelta | None, world_size: int, rank: int, given: dict[str, Any]) -> World:
    """In a world that a launcher has made already: take it over, once."""
    here = world.current()
    if rank not in (-1, here.rank) or world_size not in (-1, here.world_size):
        raise ValueError(
            f"init_process_group(rank={rank}, world_size={world_size}) in a world that was launched "
            f"with rank {here.rank} of {here.world_size}"
        )
    del given["fresh"]
    if name != Backend.UNDEFINED:
        here.default_group.backend = name
    if timeout is not None:  # else the launcher's stays
        here.default_group.set_timeout(timeout)
    return here


def _join(asked: WorldRequest, store: Store, rank: int, size: int, deadline: Deadline) -> World:
    place, name = world.place(), asked.name
    if not 0 <= rank < size:
        raise RuntimeError(f"rank < size. {rank} vs {size}" if rank >= size else f"rank {rank} < 0")
    given = place.given.get("address", "")  # by launch; or by mtdrun's --net
    wish = given or os.environ.get("MINITORCH_DIST_TRANSPORT", "")
    transport_kind, address = backends.transport_for(name, wish or "tcp")
    if not given and wish and name in (Backend.GLOO, Backend.NCCL):  # names that only mean "any"
        transport_kind, address = backends.transport_for(Backend.UNDEFINED, wish)
    address = address or given
    if given and name == Backend.UNDEFINED:  # the launcher says it by the address
        name = Backend(registry.scheme_of(given))
    root = PrefixStore("default_pg", store)
    generation = arrive(root, rank, size, who(transport_kind, rank, size))
    keys = PrefixStore(str(generation), root)
    transport = transport_kind(rank, size, address, place.clock)
    transport.patience = asked.timeout.total_seconds()
    mailbox = Mailbox(transport)
    try:
        if place.given.get("journal", os.environ.get("MINITORCH_DIST_JOURNAL")):
            from minitorch_dist.distributed.journal import rank_recorder

            mailbox.recorder = rank_recorder.begin(transport, str(generation), place.given)
        transport.uses_board = mailbox.recorder is None  # a journal is of messages
        transport.connect(keys, mailbox, deadline.left())
    except BaseException:
        transport.close()
        if mailbox.recorder is not None:
            mailbox.recorder.close()
        with suppress(DistError, OSError):
            root.set(f"left/{rank}/{generation}", b"")  # so that we may try again
        raise
    here = World(transport, mailbox, keys, name)
    forked.watch(here)
    here.identity = str(generation)
    FlightRecorder(mailbox, keys)
    mailbox.left_after = MethodType(exit_check.left_after, here)  # smaller than a partial
    here.origin = f"{os.environ.get('MINITORCH_DIST_GENERATION', '')}#{generation}"
    here.own_store = store if asked.store is None else None
    limit = asked.timeout.total_seconds()
    here.default_group = ProcessGroup(here, "0", everybody(size), limit, name, "default_pg", asked.options)
    place.world = here
    place.given["was_here"] = True
    if "visit" in place.given:
        place.given["visit"](here)
    if "store" not in place.given:
        here.at_end.append(_sign_tracebacks(rank, place.given.get("is_signed", False)))
        if "leaves" not in place.given:
            place.given["leaves"] = True
            atexit.register(_leave_with_the_process, place, os.getpid())
    if os.environ.get("TORCH_DIST_INIT_BARRIER", "0") == "1":
        keys.barrier("init_barrier", size, asked.timeout)
    return here


def who(kind: Callable[..., Transport] | Transport, rank: int, size: int) -> str:
    """This rank for people, where it is a process of its own."""
    is_thread = getattr(kind, "ranks_are", "processes") == "threads"
    return "" if is_thread else f"{job.here(size, rank)}"


def arrive(store: Store, rank: int, size: int, who: str = "") -> int:
    """Say that we are here, and for people `who` we are; how often this rank was."""
    said = clean(store.compare_set("world_size", "", f"{size} by rank {rank}"))
    if said.partition(" ")[0] != str(size):
        raise ValueError(
            f"rank {rank} was started with world_size={size}, but world_size={said}. All ranks must "
            f"be given the same world size{_named(store, said.rpartition(' ')[2], who)}"
        )
    generation = store.add(f"here/{rank}", 1)
    if generation > 1 and not store.check([f"left/{rank}/{generation - 1}"]):
        store.add(f"here/{rank}", -1)
        raise DistStoreError(
            f"rank {rank} is taken: another process has joined this world of {size} as rank {rank} "
            "and has not left it. Each rank may come once: look for a second process with the same "
            "RANK, or for one that crashed; a new run needs a new store (port, file or prefix)"
            f"{_named(store, f'{rank}', who)}"
        )
    if who:
        store.set(f"here/{rank}/who", who)
    return generation


def _named(store: Store, rank: str, who: str) -> str:
    """Two processes in words: the one that has come as this rank, and this one."""
    key = f"here/{rank}/who"
    if not who or not store.check([key]):
        return ""
    return f". Rank {rank} is here already: {job.clean(store.get(key).decode(errors='replace'))}. This is {who}"


def depart(store: Store, rank: int, generation: str, size: int) -> None:
    """Say that we are gone, so that we may come again; the store has to answer soon. No thread is begun for that: one
    that begins where memory has run out is waited for without end by Python itself."""

    def command(operation: str, key: str, *values: bytes) -> list[bytes]:
        return store.command(operation, [key], values, DEPARTURE)

    command("set", f"left/{rank}/{generation}", b"")
    if int(command("add", f"left/{generation}", b"1")[0]) == size:
        command("delete_key", "world_size")  # the next world on this store may have another size


def _leave_with_the_process(place: world.WorldScope, process: int) -> None:
    """A script ends without destroy_process_group. Its last messages are delivered all the same, as it is
    where a kernel keeps it (tcp) or memory does (file). One that fails goes at once: others wait for it."""
    here = place.world
    if here is None or os.getpid() != process or hasattr(sys, "last_type"):
        return
    here.transport.patience = LINGER
    error = exit_check.part(here)
    with suppress(DistError, OSError):
        here.transport.close()
    if error is not None:
        print(f"[rank{here.rank}]: {type(error).__name__}: {error}", file=sys.stderr)


def part(place: world.WorldScope) -> None:
    """This rank has come to its end: say so, and raise if others have come to another one."""
    here = place.world
    error = None if here is None else exit_check.part(here)
    if error is not None:
        raise error


def leave(place: world.WorldScope) -> None:
    """End this place's world and all of its groups. If the ranks have come to different ends, this
    is raised once all is ended, unless the caller is failing already."""
    if place.world is not None and place.world.is_left_behind:
        place.world = None
        return
    try:
        if sys.exception() is None:
            part(place)
    finally:
        _end(place)


def _end(place: world.WorldScope) -> None:
    here, place.world = place.world, None
    if here is None:
        return
    place.given.pop("fresh", None)
    groups: list[ProcessGroup] = list(here.groups.values())
    for group in groups:
        group.shutdown()
    for act in reversed(here.at_end):
        act()
    here.transport.close()
    for group in groups:
        group.join()
    if here.mailbox.recorder is not None:
        here.mailbox.recorder.close()
    if here.signs_off:
        store = here.store.underlying_store if isinstance(here.store, PrefixStore) else here.store
        with suppress(DistError, OSError):  # the master left first, and its store with it
            depart(store, here.rank, here.identity, here.world_size)
    if here.own_store is not None:
        here.own_store.close()


def confess(error: BaseException) -> None:
    """This rank has failed and will leave: tell the others what it raised, and where, so that they
    need not guess. A failure that only followed from another rank's was reported already."""
    here = world.place().world
    if here is None:
        return
    here.has_parted = True  # it will not
    if isinstance(error, DistError):
        return
    trace = "".join(traceback.format_exception(error))[-MAX_TRACE:]
    text = f"{''.join(traceback.format_exception_only(error)).strip()}\n{trace}"
    patience = here.transport.patience
    # A peer that takes nothing is not waited for.
    here.transport.patience = min(patience or HASTE, HASTE)
    for group in list(here.groups.values()):
        group.channel.confess(text)
    here.transport.patience = patience


def _write(sign: str, text: str) -> None:
    sys.stderr.write("".join(f"{sign}: {line}\n" if line else "\n" for line in text.splitlines()))
    sys.stderr.flush()


def _sign_tracebacks(rank: int, is_signed: bool) -> Callable[[], None]:
    """Put `[rank3]:` before each line of an uncaught exception, unless somebody else does. The result takes that back."""
    before = sys.excepthook

    def signed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        traces.shorten(error)
        if is_signed:
            before(kind, error, error.__traceback__)
        else:
            _write(f"[rank{rank}]", traces.shown(error))
        confess(error)

    def undo() -> None:
        if sys.excepthook is signed:
            sys.excepthook = before

    sys.excepthook = signed
    return undo
