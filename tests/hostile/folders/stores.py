"""A FileStore and a journal in a hostile folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from minitorch_dist.distributed import journal
from minitorch_dist.distributed.journal import JournalError, files
from tests.hostile.folders.place import Visit
from transports.errors import DistStoreError, TrustError
from transports.stores.file import FileStore

STORE, RUN = "rendezvous", "trip.mtd"
LINE = '{"what":"world","rank":%d,"world_size":3,"transport":"here","at":1}\n'


def use_store(place: Path, users: int = 2) -> None:
    stores: list[FileStore] = []
    try:
        stores.extend(FileStore(place / STORE, users, timeout=5.0) for _ in range(users))
        stores[0].set("k", "v")
        assert stores[-1].get("k") == b"v" and stores[-1].add("n", 2) == 2
    finally:
        for store in stores:
            store.close()


def leave_store(place: Path) -> None:
    """A first user has left, and the second did not come yet."""
    FileStore(place / STORE, 2).close()


def come_late(place: Path) -> None:
    FileStore(place / STORE, 2, timeout=5.0).close()


def record(place: Path) -> None:
    """What three processes and their launcher do."""
    path = files.wanted(place / RUN)
    assert path is not None
    files.begin_anew(path)
    for rank in range(3):
        sheet = files.Sheet(files.piece(path, rank))
        try:
            sheet.write(LINE % rank)
        finally:
            sheet.close()
    files.merge(path)


def read(place: Path) -> None:
    assert journal.read(place / RUN).world_size == 3


def record_and_read(place: Path) -> None:
    record(place)
    read(place)


def is_journal(content: Any) -> bool:
    return content == b"" or (isinstance(content, bytes) and content.startswith(b'{"journal":'))


def visits() -> list[Visit]:
    store, written = (DistStoreError, TrustError), (JournalError, OSError)
    places = (RUN, f"{RUN}.0", f"{RUN}.2", f"{RUN}.20")
    return [
        Visit("store", lambda place: None, use_store, store, (STORE,), replaces=lambda content: content == b""),
        Visit("store-late", leave_store, come_late, store, (STORE,)),
        Visit("journal", record, record, written, places, replaces=is_journal),
        Visit("journal-read", record, read, (*written, AssertionError), places, replaces=lambda content: False),
    ]
