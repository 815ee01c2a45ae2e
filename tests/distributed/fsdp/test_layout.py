"""The arithmetic: pieces of all ranks together are each parameter exactly once."""

from __future__ import annotations

from hypothesis import given, strategies as st

from minitorch_dist.distributed.fsdp.shard_layout import Layout

SHAPES = st.lists(st.lists(st.integers(0, 5), max_size=3).map(tuple), min_size=1, max_size=6)


@given(SHAPES, st.integers(1, 9))
def test_shards_cover_everything_once(shapes: list[tuple[int, ...]], ranks: int) -> None:
    layout = Layout(shapes, ranks)
    assert layout.padded == ranks * layout.shard
    assert layout.total <= layout.padded < layout.total + ranks
    for number, count in enumerate(layout.counts):
        seen = []
        for rank in range(ranks):
            piece = layout.piece(number, rank)
            seen += range(piece.start, piece.stop)
            if piece.length:
                assert layout.spans[number].start + piece.start == rank * layout.shard + piece.offset
        assert seen == list(range(count))
