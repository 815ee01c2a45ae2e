"""The file in which the ranks of one host meet: made by one, proved by all, never left behind.

One rank makes it under a name of its own (`path.<generation>.rings`, or a folder `….append`), mode
0600, and tells the others the name through the store. It begins with one signed page:

    magic · version · mode · world size · room · generation · boot · maker · job    then the MAC of all

The generation is drawn by chance and tells this world from every other one; the MAC is made with
the job's key, so a file that somebody planted is refused before a byte of it is believed.

Each process that uses the file holds a shared lock on it. The lock ends with the process, however that
ends. A process that gets the lock for itself alone is the last one, and tidies up. A file that nobody holds
was left by a crashed run: `sweep` removes it and says so. A live one cannot be mistaken for it.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from transports import keeper
from transports.errors import ConnectError, OtherJob, TrustError
from transports.keeper import Held
from transports.plain_text import clean

MAGIC = b"mtdmeets"
VERSION = 3
MODES = ("rings", "append")
PAGE = 4096
_HEADER = struct.Struct("<8sHHIQ16s64s64s64s")
_MAC = 32


@dataclass(frozen=True)
class Terms:
    """The terms that all ranks have to agree on."""

    mode: str
    world_size: int
    room: int  # bytes of a ring, or of a segment
    generation: bytes
    boot: str
    maker: str
    job: str = ""  # its id and generation; see `transports.job`

    def page(self, key: bytes) -> bytes:
        mode, texts = MODES.index(self.mode), (text.encode()[:64] for text in (self.boot, self.maker, self.job))
        head = _HEADER.pack(MAGIC, VERSION, mode, self.world_size, self.room, self.generation, *texts)
        return head + hmac.digest(key, head, "sha256")


def read_terms(page: bytes, key: bytes) -> Terms:
    """The terms of a page that was signed with `key`; TrustError for any other bytes."""
    version = int.from_bytes(page[8:10], "little")
    head, mac = page[: _HEADER.size], page[_HEADER.size : _HEADER.size + _MAC]
    if len(mac) < _MAC or head[:8] != MAGIC:
        raise TrustError("it does not begin like a file of this transport")
    if version != VERSION:
        raise TrustError(f"it is of version {version}, and this program speaks {VERSION}. Install one version for all")
    if not hmac.compare_digest(hmac.digest(key, head, "sha256"), mac):
        raise TrustError("it was not signed with this job's key. All ranks need the same MINITORCH_DIST_KEY")
    _, _, mode, world_size, room, generation, *said = _HEADER.unpack(head)
    if mode >= len(MODES):
        raise TrustError(f"its mode is {mode}, and there are {len(MODES)}")
    texts = [_text(field) for field in said]
    return Terms(MODES[mode], world_size, room, generation, *texts)


def _text(field: bytes) -> str:
    return clean(field.rstrip(b"\0"), lines=False)


class SignedFile:
    """One rank's hold on the file: its lock, and the open file itself."""

    def __init__(self, path: Path, terms: Terms, file: Held) -> None:
        self.path, self.terms, self.file = path, terms, file

    @property
    def is_folder(self) -> bool:
        return self.terms.mode == "append"

    def leave(self) -> bool:
        """Let go; the last one removes what is left. True if that was us."""
        if self.file.number < 0:
            return False
        is_last = self.file.lock()
        if is_last:
            self.remove()
        self.file.close()
        return is_last

    def remove(self) -> None:
        """Take the name away; those who have the file open keep it."""
        _remove(self.path, self.file)


def make(base: Path, terms: Terms, key: bytes) -> SignedFile:
    """Create the file `base` speaks of, and hold it."""
    path = base.parent / f"{base.name}.{terms.generation.hex()}.{terms.mode}"
    if terms.mode == "append":
        path.mkdir(mode=0o700)
    file = Held(keeper.open_file(_signed_part(path), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        file.lock(shared=True)  # before it can be read: nobody may sweep it away
        os.pwrite(file.number, terms.page(key), 0)
        if terms.mode == "append":  # other hosts will look for it
            os.fsync(file.number)
    except BaseException:
        _remove(path, file)
        file.close()
        raise
    return SignedFile(path, terms, file)


def attach(path: Path, generation: bytes, key: bytes, job: str = "") -> SignedFile:
    """Open the file that another rank has made, if it is what that rank spoke of, and of our job."""
    file, page = _open(path)
    try:
        terms = read_terms(page, key)
    except TrustError as error:
        raise TrustError(f"{path} is refused: {error}") from None
    if terms.job != job:
        raise OtherJob(
            f"{path} was made by {terms.maker} for {_named(terms.job)}, and this is {_named(job)}. Give each job a "
            "store of its own"
        )
    if terms.generation != generation:
        raise ConnectError(f"{path} belongs to another run: its generation is another one")
    file.lock(shared=True)
    return SignedFile(path, terms, file)


def _named(job: str) -> str:
    return f"job {job}" if job else "a job that was started by hand"


def sweep(base: Path) -> list[str]:
    """Remove what runs of this user have left at `base` when they crashed; says what and whose.

    A file is ours if its page has the random number that stands in its name. The key is not asked for: it may be
    another one in each run.
    """
    said = []
    for name in keeper.names(base.parent):
        generation, _, mode = name.removeprefix(f"{base.name}.").partition(".")
        if not name.startswith(f"{base.name}.") or mode not in MODES:
            continue
        path = base.parent / name
        with suppress(OSError, TrustError), contextlib.closing(_open(path)[0]) as file:
            page = os.pread(file.number, PAGE, 0)  # of any version: these places are always the same
            is_ours = page[:8] == MAGIC and page[24:40].hex() == generation
            maker = page[104:168]
            if is_ours and file.lock():  # and not in use
                _remove(path, file)
                left = f"it was left by {_text(maker)}, and no process uses it any more"
                said.append(f"removed {path}, a stale file: {left}, so that run has crashed")
    return said


def _signed_part(path: Path) -> Path:
    return path / "terms" if path.suffix == ".append" else path


def _open(path: Path) -> tuple[Held, bytes]:
    """Open a file, and its first page; it must be our own, and closed to others."""
    file = Held(keeper.open_file(_signed_part(path), os.O_RDWR))
    if odd := keeper.why_not_ours(file.number, 0o077):
        raise TrustError(f"{path} is refused: it must be a file of this user that nobody else can open, and it {odd}")
    return file, os.pread(file.number, PAGE, 0)


def _remove(path: Path, file: Held) -> None:
    if path.suffix == ".append":
        keeper.remove_folder(path, file, "terms")
    else:
        keeper.remove_held(path, file)
