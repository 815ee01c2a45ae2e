"""Plans, looked at from outside: early posts, cut messages, and gates where memory would fill."""

from __future__ import annotations

import pytest

from minitorch_dist.distributed.execution import chunks
from minitorch_dist.distributed.execution.chunks import Vector, gated, segments
from minitorch_dist.distributed.execution.plan import ExecutionPlan, PostReceive, SendSegment
from minitorch_dist.distributed.execution.planner import plan
from minitorch_dist.distributed.schedules import BUILT_IN, binomial, recursive_doubling, ring
from minitorch_dist.distributed.schedules.schedule import ROOTED, even

MEGA = 1 << 20


def vector(size: int, count: int, chunks: int | None = None, **more: bool) -> Vector:
    return Vector(tuple(even(count, chunks or size).tolist()), 4, **more)


def kinds(made: ExecutionPlan) -> str:
    return "".join("p" if isinstance(action, PostReceive) else "s" for action in made.actions)


def test_a_ring_posts_its_receives_before_it_sends() -> None:
    made = plan(ring.reduce_scatter, 0, 4, None, vector(4, 400))
    assert kinds(made) == "pppsss"
    assert [action.needs for action in made.actions if isinstance(action, SendSegment)] == [(), (0,), (1,)]


def test_scratch_is_used_again() -> None:
    """A ring that may not write to its input needs three chunks of scratch, whatever the size."""
    for size in (5, 8, 32):
        flat = Vector((1000,) * size, 4, in_place=False, results=(3,))
        assert plan(ring.reduce_scatter, 3, size, None, flat).slots == (1000,) * 3


def test_segments_do_not_depend_on_who_holds_them() -> None:
    sizes = {0: 10, 1: 20, 2: 3 * MEGA, 3: 5, 4: 0}
    cut = list(segments([0, 1, 2, 3, 4], sizes.__getitem__, 4))
    assert cut[0][0] == (0, 0, 10)
    whole: dict[int, int] = {}
    for pieces in cut:
        assert sum(stop - start for _, start, stop in pieces) * 4 <= chunks.SEGMENT
        for chunk, start, stop in pieces:
            assert whole.get(chunk, 0) == start
            whole[chunk] = stop
    assert whole == sizes
    assert list(segments([], sizes.__getitem__, 4)) == [()], "an empty message"


def test_the_root_of_a_tree_asks_for_large_vectors() -> None:
    large, small = (even(MEGA, 1).tolist(), even(100, 1).tolist())
    assert gated(binomial.reduce, 0, 8, 0, tuple(large), 4) == {(2, 1), (4, 1)}
    assert gated(binomial.reduce, 0, 8, 0, tuple(small), 4) == frozenset()
    assert gated(binomial.broadcast, 0, 8, 0, tuple(large), 4) == frozenset()
    sender = plan(binomial.reduce, 4, 8, 0, vector(8, MEGA, 1, in_place=False, results=()))
    assert all(a.waits for a in sender.actions if isinstance(a, SendSegment))


def test_partners_who_swap_a_large_vector_take_turns() -> None:
    made = plan(recursive_doubling.all_reduce, 0, 2, None, vector(2, MEGA, 1))
    assert kinds(made) == "spspspsp"


@pytest.mark.parametrize("schedule", BUILT_IN.values(), ids=str)
def test_what_one_sends_the_other_expects(schedule) -> None:
    """Segment by segment, for all ranks, the plans fit: elements, order, gates."""
    if schedule.collective == "all_to_all":
        return  # the executor's tests have these
    for size in (1, 2, 3, 5, 8):
        for count in (0, size + 1, 300_000):
            sizes = tuple(schedule.sizes(size, count).tolist())
            root = size - 1 if schedule.collective in ROOTED else None
            made = [plan(schedule, r, size, root, Vector(sizes or (0,), 4)) for r in range(size)]
            sent: dict[tuple[int, int], list[object]] = {}
            expected: dict[tuple[int, int], list[object]] = {}
            for rank, actions in enumerate(made):
                posts = sorted(a for a in actions.actions if isinstance(a, PostReceive))
                for post in posts:
                    entry = (post.step, _length(post.into), post.opens)
                    expected.setdefault((post.source, rank), []).append(entry)
                for action in actions.actions:
                    if isinstance(action, SendSegment):
                        entry = (action.step, _length(action.parts), action.waits)
                        sent.setdefault((rank, action.to), []).append(entry)
            assert sent == expected


def _length(parts) -> int:
    return sum(part.stop - part.start for part in parts)
