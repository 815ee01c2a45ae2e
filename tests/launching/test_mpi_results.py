"""What ranks over MPI tell each other through the store: values, and never a pickle."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.distributed import codec
from minitorch_dist.launching import mpi, ranks
from transports.stores.store import HashStore

ran: list[str] = []


class Bomb:
    def __reduce__(self) -> Any:
        return ran.append, ("a pickle",)


def test_values_come_back() -> None:
    store = HashStore()
    store.set("report/1", codec.pack(("of rank 1", None)))
    found = mpi._results(store, 0, 2, mpi._told([1, mtd.ones(2)], 0))
    assert found[0][0] == 1 and mtd.equal(found[0][1], mtd.ones(2)) and found[1] == "of rank 1"


def test_what_is_no_value_says_so_on_all_ranks() -> None:
    with pytest.raises(ranks.RankFailed, match=r"the result\[0\] of rank 0 cannot be given .*Bomb"):
        mpi._results(HashStore(), 0, 1, mpi._told([Bomb()], 0))
    assert not ran


def test_a_pickle_in_the_store_is_not_read() -> None:
    for said in (pickle.dumps((Bomb(), None)), codec.pack((Bomb(), None), codec.Trust.FULL)):
        ran.clear()
        store = HashStore()
        store.set("report/1", said)
        with pytest.raises(codec.CodecError):
            mpi._results(store, 0, 2, codec.pack((1, None)))
        assert not ran
