"""Collectives on a board: what a schedule becomes there, and that nothing else changes."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import signal
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import collectives, world
from minitorch_dist.distributed.exceptions import DistMismatch, DistTimeout, PeerLost
from minitorch_dist.distributed.execution.chunks import Vector
from minitorch_dist.distributed.fast.board_program import Put, board_program
from minitorch_dist.distributed.fast.boards import BoardEnd
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.reductions import ReduceStep
from minitorch_dist.distributed.schedules import choice, direct, postings, two_shot
from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.postings import BoardRead, BoardWrite
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.launching import launch
from tests.distributed import nursery
from tests.distributed.schedules.all_schedules import every_schedule, roots
from tests.distributed.test_collectives_in_processes import digest, expected, rough
from tests.fast_forms import needs_fast_forms
from transports import board
from transports.shared_file import places

pytestmark = needs_fast_forms

LINKS = Links(alpha=1_000_000, beta=100, gamma=125)

# ------------------------------------------------------------------------------ what a schedule becomes
from tests.distributed.serving import serving


def totals(schedule: Schedule, size: int, nbytes: int, root: int | None = None) -> Any:
    """Bytes that each rank copies onto the board, and that it takes from there."""
    sizes = (schedule.sizes(size, nbytes)).tolist() or [0]
    found = np.zeros((2, size), np.int64)
    for rank in range(size):
        for act in postings.program(schedule, rank, size, root).acts:
            if isinstance(act, BoardWrite):
                found[0, rank] += sum(sizes[chunk % len(sizes)] for _, chunk in act.chunks)
            elif isinstance(act, BoardRead) and act.chunk != postings.NOTHING:
                found[1, rank] += sizes[act.chunk % len(sizes)]
    return found


@every_schedule
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_nobody_looks_at_what_is_never_there(schedule: Schedule, size: int) -> None:
    """The bill follows all ranks to their end; and a board carries no more than messages do."""
    for root in roots(schedule, size):
        assert postings.bill(schedule, size, 1000, LINKS, root) >= 0
        shown, taken = totals(schedule, size, 1000, root)
        sent = cost(schedule, size, 1000, LINKS, root=root).sent
        assert (shown <= sent).all()
        assert taken.sum() == sent.sum()


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_two_shot_is_two_events(size: int) -> None:
    nbytes = 1000 * size
    program = postings.program(two_shot.all_reduce, 0, size, None)
    assert program.events == 2
    shown, taken = totals(two_shot.all_reduce, size, nbytes)
    assert set(shown) == {nbytes}
    assert set(taken) == {2 * (size - 1) * nbytes // size}
    a, b, c = LINKS.alpha, LINKS.beta, LINKS.gamma
    both = 2 * a + 2 * (size - 1) * a  # two events put up, and every other rank's two looked at
    assert postings.bill(two_shot.all_reduce, size, nbytes, LINKS) == both + b * nbytes + (size - 1) * 1000 * (b + c)


def test_what_all_look_at_is_put_up_once() -> None:
    acts = postings.program(direct.all_gather, 1, 4, None).acts
    assert acts[0] == BoardWrite(0, ((0, 1),))
    assert acts[1:] == tuple(BoardRead(source, 0, 0, source, False) for source in (0, 3, 2))


def test_the_cheapest_on_a_board() -> None:
    """Few events for little, few bytes for much; and a ring never."""
    found = {nbytes: choice.choose("all_reduce", 8, nbytes, LINKS, on_board=True).name for nbytes in (8, 1 << 26)}
    assert found == {8: "recursive_doubling", 1 << 26: "two_shot"}


# --------------------------------------------------------------------------------- carried out


KINDS = ("all_reduce", "reduce", "broadcast", "reduce_scatter", "all_gather")


def bits_of(counts: tuple[int, ...]) -> dict[tuple[str, str, int], bytes]:
    group = world.current().default_group
    rank, size, found = group.rank(), group.size(), {}
    for count in counts:
        x = rough(rank, count * size)
        for kind in KINDS:
            for name in serving(kind, size):
                y = np.zeros({"reduce_scatter": count, "all_gather": count * size}.get(kind, count))
                y = y.astype(np.float32)
                if kind == "all_reduce":
                    y[:] = x[:count]
                    collectives.all_reduce(group, y, how=How(name))
                elif kind == "reduce":
                    y[:] = x[:count]
                    collectives.reduce(group, y, size - 1, ReduceStep("max"), How(name))
                elif kind == "broadcast":
                    y[:] = x[:count]
                    collectives.broadcast(group, y, size - 1, How(name))
                elif kind == "reduce_scatter":
                    collectives.reduce_scatter_from(group, y, x, how=How(name))
                else:
                    collectives.all_gather_into(group, x[:count].copy(), y, How(name))
                is_asked = kind != "reduce" or rank == size - 1
                found[kind, name, count] = digest(y) if is_asked else b""
        uneven_all_to_all(group)
    return found


def uneven_all_to_all(group: Any) -> None:
    """Rank s has (3 s + d) ** 2 elements for rank d: some pairs need many rounds, some none."""
    rank, size = group.rank(), group.size()
    inputs = [np.full((3 * rank + peer) ** 2, 10 * rank + peer, np.int16) for peer in range(size)]
    outputs = [np.zeros((3 * peer + rank) ** 2, np.int16) for peer in range(size)]
    collectives.all_to_all(group, outputs, inputs)
    for peer, output in enumerate(outputs):
        assert (output == 10 * peer + rank).all()


@pytest.mark.slow
@pytest.mark.parametrize(("size", "slot"), [(2, 64), (3, 0), (3, 1024), (5, 1024), (5, None)])
def test_slots_of_any_size_give_the_bits_of_the_schedule(size: int, slot: int | None, tmp_path: Path) -> None:
    """Without a board, in many rounds, or in one."""
    counts = (0, 1, size + 1, 601)
    asked = "" if slot is None else f"?board={slot}"
    found = launch(bits_of, size, f"file://{tmp_path}/ranks{asked}", args=(counts,), timeout=100)
    for kind, name, count in found[0]:
        wanted = expected(choice.known(kind)[name], size, count)
        assert [results[kind, name, count] for results in found] == wanted, (kind, name, count)


def signed_by_rank() -> list[bytes]:
    """Sums of nans that say whose they are: what stands first in an addition is what remains."""
    group = world.current().default_group
    found = []
    for name in ("recursive_doubling", "ring", "two_shot", "direct"):
        x = np.full(37, 0x7FC0_0001 + group.rank(), np.uint32).view(np.float32)
        collectives.all_reduce(group, x, how=How(name))
        found.append(x.tobytes())
    return found


@pytest.mark.slow
def test_the_lower_rank_stands_first(tmp_path: Path) -> None:
    """So all ranks have the same bits, and they are those of the messages."""
    shown = launch(signed_by_rank, 3, f"file://{tmp_path}/ranks", timeout=300)
    assert shown[0] == shown[1] == shown[2]
    assert shown == launch(signed_by_rank, 3, f"file://{tmp_path}/ranks?board=0", timeout=300)


def each_kind() -> None:
    """Every dtype and op, and many operations in a row, so that ranks run ahead of each other."""
    group = world.current().default_group
    rank, size = group.rank(), group.size()
    for turn in range(300):
        x = np.array([turn + rank], np.int64)
        collectives.broadcast(group, x, turn % size)
        assert x[0] == turn + turn % size
        collectives.all_reduce(group, x, ReduceStep("max"))
    y = np.array([1e38, -1e38, np.inf, -0.0, np.nan], np.float32)
    collectives.all_reduce(group, y, ReduceStep("product"))
    assert group.board.round >= 600


def test_what_may_be_asked_of_a_board() -> None:
    assert places.parse("file:///x?board=0").board == 0
    assert places.parse("file:///x?board=640").board == 640
    assert places.parse("file:///x").board is None
    for wrong in ("100", "-64", "many"):
        with pytest.raises(ValueError, match=f"board.*{wrong}|{wrong}.*board"):
            places.parse(f"file:///x?board={wrong}")
    with pytest.raises(ValueError, match="names no place for a file: File name too long"):
        places.parse(f"file:///{'x' * 300}")
    assert board.room(2) == board.ROOM and board.room(1000) == 8384


@pytest.mark.slow
def test_many_small_ones_in_a_row(tmp_path: Path) -> None:
    launch(each_kind, 3, f"file://{tmp_path}/ranks", timeout=300)


SMALL = 1 << 17  # bytes: Python's own objects


def held() -> dict[str, int]:
    """Bytes that each operation holds at most beyond what it was given."""
    group = world.current().default_group
    rank, size, count = group.rank(), group.size(), 1 << 17
    x, y = np.ones(count * size, np.float32), np.ones(count * size, np.float32)
    part = np.ones(count, np.float32)
    rows, others = list(x.reshape(size, count)), list(y.reshape(size, count))
    root = rank == 0
    operations: dict[str, Callable[[], Any]] = {
        "broadcast": lambda: collectives.broadcast(group, x, 0),
        "reduce": lambda: collectives.reduce(group, x, 0),
        "all_reduce": lambda: collectives.all_reduce(group, x),
        "gather": lambda: collectives.gather(group, part, others if root else None, 0),
        "scatter": lambda: collectives.scatter(group, part, rows if root else None, 0),
        "all_gather": lambda: collectives.all_gather(group, part, others),
        "all_gather_into": lambda: collectives.all_gather_into(group, part, y),
        "reduce_scatter": lambda: collectives.reduce_scatter(group, part, rows),
        "reduce_scatter_from": lambda: collectives.reduce_scatter_from(group, part, x),
        "all_to_all": lambda: collectives.all_to_all(group, others, rows),
    }
    found = {}
    for name, operation in operations.items():
        operation()
        collectives.barrier(group)
        tracemalloc.start()
        operation()
        found[name] = tracemalloc.get_traced_memory()[1] - SMALL
        tracemalloc.stop()
        collectives.barrier(group)  # nobody sends what is next to a rank that still measures
    return found


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["", "?board=0"])
def test_what_an_operation_holds(asked: str, tmp_path: Path) -> None:
    """Never more than 1.25 times its vector; and beside a board, whatever the vector, no more than
    two of its slots."""
    vector = 3 * 4 << 17
    limit = 5 * vector // 4 if asked else 2 * board.ROOM
    for found in launch(held, 3, f"file://{tmp_path}/ranks{asked}", timeout=300):
        assert len(found) == 10
        assert {name: nbytes for name, nbytes in found.items() if nbytes > limit} == {}


def with_one_journal(rank: int, size: int, folder: str) -> None:
    if rank == 1:
        os.environ["MINITORCH_DIST_JOURNAL"] = f"{folder}/run.mtd"
    dist.init_process_group("file", f"file://{folder}/world", rank=rank, world_size=size)
    group, x = world.current().default_group, np.ones(5, np.float32)
    collectives.all_reduce(group, x)
    Path(folder, f"said.{rank}").write_text(f"{group.board} {x.sum()}")
    dist.destroy_process_group()


@pytest.mark.slow
def test_a_journal_is_of_messages_and_one_is_enough(tmp_path: Path) -> None:
    """All ranks send messages if one of them writes down what it sends."""
    in_processes(with_one_journal, 2, (2, str(tmp_path)))
    assert {(tmp_path / f"said.{rank}").read_text() for rank in range(2)} == {"None 10.0"}


def in_processes(function: Any, size: int, args: tuple[Any, ...]) -> None:
    context = multiprocessing.get_context("spawn")
    ranks = [context.Process(target=function, args=(rank, *args)) for rank in range(size)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(300)
        assert process.exitcode is not None


# --------------------------------------------------------------------------------- what goes wrong


def differ(first: str, second: str) -> str:
    group = world.current().default_group
    what = first if group.rank() == 0 else second
    x = np.zeros(12, np.float32)
    try:
        if what == "broadcast":
            collectives.broadcast(group, x, 0)
        elif what == "shorter":
            collectives.all_reduce(group, x[:10])
        elif what == "large":
            collectives.all_reduce(group, np.zeros(1 << 20, np.float32))
        elif what == "messages":
            collectives.all_to_all(group, list(x.reshape(-1, 6)), list(x.reshape(-1, 6)), How("bruck"))
        else:
            collectives.all_reduce(group, x)
        collectives.barrier(group)
    except DistMismatch as error:
        return str(error)
    return "nothing was noticed"


@pytest.mark.slow
@pytest.mark.parametrize(
    "pair",
    [("all_reduce", "broadcast"), ("shorter", "all_reduce"), ("all_reduce", "large"), ("messages", "all_reduce")],
)
def test_a_mismatch_names_both(pair: tuple[str, str], tmp_path: Path) -> None:
    for said in launch(differ, 2, f"file://{tmp_path}/ranks", args=pair, timeout=300):
        assert "rank 0" in said and "rank 1" in said, said
        assert "test_boards.py" in said
        assert "float32[12]" in said


def until_one_dies(rank: int, size: int, folder: str, count: int) -> None:
    """What a rank says when another one was killed, into a file."""
    dist.init_process_group("file", f"file://{folder}/world", rank=rank, world_size=size)
    x = np.zeros(count, np.float32)
    group = world.current().default_group
    try:
        for turn in range(1_000_000):
            if rank == 1 and turn == 20:
                os.kill(os.getpid(), signal.SIGKILL)
            collectives.all_reduce(group, x)
    except PeerLost as lost:
        Path(folder, f"said.{rank}").write_text(f"{lost}")


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 1 << 22])
def test_a_rank_that_is_killed(count: int, tmp_path: Path) -> None:
    in_processes(until_one_dies, 3, (3, str(tmp_path), count))
    for rank in (0, 2):
        said = (tmp_path / f"said.{rank}").read_text()
        assert "rank 1 is lost" in said and f"all_reduce #20 (float32[{count}], SUM)" in said
        assert "test_boards.py" in said


def after_the_last() -> float:
    """The last to come still finds what the others put up before they left."""
    group = world.current().default_group
    x = np.ones(5, np.float32)
    collectives.all_reduce(group, x)
    if group.rank() == 0:
        time.sleep(0.3)
    collectives.broadcast(group, x, 1)
    return float(x.sum())


@pytest.mark.slow
def test_who_leaves_first_is_not_lost(tmp_path: Path) -> None:
    assert launch(after_the_last, 2, f"file://{tmp_path}/ranks", timeout=300) == [10.0, 10.0]


@pytest.mark.slow
def test_a_late_rank_is_named(tmp_path: Path) -> None:
    with pytest.raises(DistTimeout, match=r"waited .* for rank 1 in all_reduce #0 .*nothing was heard"):
        launch(first_only, 2, f"file://{tmp_path}/ranks", timeout=300)


def first_only() -> None:
    group = world.current().default_group
    store = group.world.store
    if group.rank() == 0:
        group.set_timeout(0.3)
        try:
            collectives.all_reduce(group, np.zeros(3, np.float32))
        finally:
            store.set("told", "")
    else:
        store.wait(["told"])


def everybody_is_root(rank: int, name: str, count: int) -> str:
    size = dist.get_world_size()
    try:
        for _ in range(3):  # all are equal at first, so that the short form is taken
            dist.broadcast(torch.ones(count), 0)
            dist.scatter(torch.ones(count), [torch.ones(count)] * size if rank == 0 else None, 0)
        if name == "broadcast":
            dist.broadcast(torch.ones(count), rank)
        else:
            dist.scatter(torch.ones(count), [torch.ones(count)] * size, rank)
        dist.barrier()
    except dist.DistError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was said"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["broadcast", "scatter"])
def test_two_roots_do_not_pass_each_other_by(name: str, tmp_path: Path) -> None:
    """Whoever takes itself for the root looks at nobody; the later of two looks all the same."""
    worlds = [
        nursery.World(f"file://{tmp_path}/{size}-{count}", size, everybody_is_root, (name, count))
        for size in (2, 3, 5)
        for count in (4, 3_000_000)
    ]
    for results in nursery.run(worlds):
        assert all("nothing" not in told for told in results), results
        mismatch = [told for told in results if told.startswith("DistMismatch")]
        assert mismatch and all(f"is in {name} #" in told for told in mismatch), results
        assert all("root" in told for told in mismatch)


def test_a_block_as_long_as_its_place_takes_one_round() -> None:
    """The words that say how many elements a block has take no room from it."""
    schedule = choice.known("all_to_all")["direct"]
    count = board.room(2) // 4
    program = board_program(schedule, 0, 2, None, Vector((count,) * 4, 4, False), board.room(2))
    assert program is not None and program.rounds == 1


@pytest.mark.parametrize("size", [2, 100, 130, 300])
def test_counts_of_blocks_stand_outside_of_headers_and_data(size: int) -> None:
    schedule, room = choice.known("all_to_all")["direct"], board.room(size)
    program = board_program(schedule, 0, size, None, Vector((7,) * (2 * size), 8, False), room)
    assert program is not None
    end = BoardEnd.__new__(BoardEnd)
    memory = mmap.mmap(-1, board.nbytes(size, room))
    end.board = board.Board(memory, 0, 0, size, room, None)
    puts = [act for act in program.before if isinstance(act, Put)]
    places = [place for put in puts for place, _ in put.parts]
    found = {8 * end.count(0, 1, place) for place in places}
    head = end.board.head(0, 1)
    data = head + board.HEAD, head + board.HEAD + program.length * 8 * len(places)
    assert len(found) == len(places) == size - 1
    for word in found:
        is_behind_header = head + board.FRONT + wire.MAX_HEADER <= word <= data[0] - 8
        assert is_behind_header or data[1] <= word <= data[0] + room - 8
    end.board.close()
    memory.close()
