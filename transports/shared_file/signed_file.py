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

import fcntl
import hmac
import os
import shutil
import stat
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from transports.errors import ConnectError, OtherJob, TrustError
from transports.job import clean

MAGIC = b"mtdmeets"
VERSION = 3
MODES = ("rings", "append")
PAGE = 4096
_HEADER = struct.Struct("<8sHHIQ16s64s64s64s")
_OLDER = {2: struct.Struct("<8sHHIQ16s64s64s")}  # without the job; such files are only swept
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
        head = _HEADER.pack(
            MAGIC, VERSION, MODES.index(self.mode), self.world_size, self.room, self.generation,
            self.boot.encode()[:64], self.maker.encode()[:64], self.job.encode()[:64],
        )  # fmt: skip
        return head + hmac.digest(key, head, "sha256")


def read_terms(page: bytes, key: bytes) -> Terms:
    """The terms of a page that was signed with `key`; TrustError for any other bytes."""
    version = int.from_bytes(page[8:10], "little")
    layout = _OLDER.get(version, _HEADER)
    head, mac = page[: layout.size], page[layout.size : layout.size + _MAC]
    if len(mac) < _MAC or head[:8] != MAGIC:
        raise TrustError("it does not begin like a file of this transport")
    if version != VERSION and version not in _OLDER:
        raise TrustError(
            f"it is of version {version}, and this program speaks {VERSION}. Install the same version of "
            "minitorch_dist for every rank"
        )
    if not hmac.compare_digest(hmac.digest(key, head, "sha256"), mac):
        raise TrustError(
            "it was not signed with this job's key: another job made it, or somebody planted it. "
            "All ranks need the same MINITORCH_DIST_KEY"
        )
    _, _, mode, world_size, room, generation, *said = layout.unpack(head)
    if mode >= len(MODES):
        raise TrustError(f"its mode is {mode}, and there are {len(MODES)}")
    texts = [text.rstrip(b"\0").decode(errors="replace") for text in said]
    return Terms(MODES[mode], world_size, room, generation, *texts)


class Handle:
    """An open file, closed at the latest with its last user (a rank's thread may just end)."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def close(self) -> None:
        number, self.number = self.number, -1
        if number >= 0:
            os.close(number)

    __del__ = close


class SignedFile:
    """One rank's hold on the file: its lock, and the open file itself."""

    def __init__(self, path: Path, terms: Terms, file: Handle) -> None:
        self.path, self.terms, self.file = path, terms, file

    @property
    def is_folder(self) -> bool:
        return self.terms.mode == "append"

    def leave(self) -> bool:
        """Let go; the last one removes what is left. True if that was us."""
        if self.file.number < 0:
            return False
        is_last = _is_unused(self.file.number)
        if is_last:
            self.remove()
        self.file.close()
        return is_last

    def __enter__(self) -> SignedFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.leave()

    def remove(self) -> None:
        """Take the name away; those who have the file open keep it."""
        _remove(self.path)


def make(base: Path, terms: Terms, key: bytes) -> SignedFile:
    """Create the file `base` speaks of, and hold it."""
    path = base.parent / f"{base.name}.{terms.generation.hex()}.{terms.mode}"
    if terms.mode == "append":
        path.mkdir(mode=0o700)
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(_signed_part(path), flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # before it can be read: nobody may sweep it away
        os.pwrite(descriptor, terms.page(key), 0)
        if terms.mode == "append":  # other hosts will look for it
            os.fsync(descriptor)
    except BaseException:
        os.close(descriptor)
        _remove(path)
        raise
    return SignedFile(path, terms, Handle(descriptor))


def attach(path: Path, generation: bytes, key: bytes, job: str = "") -> SignedFile:
    """Open the file that another rank has made, if it is what that rank spoke of, and of our job."""
    descriptor, terms = _open(path, key)
    if terms.job != job:
        os.close(descriptor)
        raise OtherJob(
            f"{path} was made by {terms.maker} for {_named(terms.job)}, and this is {_named(job)}. Give each job a "
            "store of its own"
        )
    if terms.generation != generation:
        os.close(descriptor)
        raise ConnectError(f"{path} belongs to another run: its generation is another one")
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return SignedFile(path, terms, Handle(descriptor))


def _named(job: str) -> str:
    return f"job {clean(job)}" if job else "a job that was started by hand"


def sweep(base: Path, key: bytes) -> list[str]:
    """Remove what runs of this key have left at `base` when they crashed; says what and whose."""
    said = []
    with os.scandir(base.parent) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(f"{base.name}.")]
    for name in names:
        if name.rpartition(".")[2] not in MODES:
            continue
        path = base.parent / name
        with suppress(OSError, TrustError):  # not ours, or just being made or removed
            descriptor, terms = _open(path, key)
            try:
                if _is_unused(descriptor):
                    _remove(path)
                    said.append(
                        f"removed {path}, a stale file: it was left by {terms.maker}, and no "
                        "process uses it any more, so that run has crashed"
                    )
            finally:
                os.close(descriptor)
    return said


def _signed_part(path: Path) -> Path:
    return path / "terms" if path.suffix == ".append" else path


def _open(path: Path, key: bytes) -> tuple[int, Terms]:
    """Open and examine a file; it must be our own, closed to others, and signed."""
    descriptor = os.open(_signed_part(path), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o77:
            raise TrustError(
                f"{path} is refused: it must be a plain file of this user (number {os.geteuid()}) "
                f"that nobody else can open, and it is of user {facts.st_uid} with mode "
                f"{stat.S_IMODE(facts.st_mode):o}"
            )
        try:
            return descriptor, read_terms(os.pread(descriptor, PAGE, 0), key)
        except TrustError as error:
            raise TrustError(f"{path} is refused: {error}") from None
    except BaseException:
        os.close(descriptor)
        raise


def _is_unused(descriptor: int) -> bool:
    """Whether we alone hold the file. The lock is ours afterwards, or gone."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(path: Path) -> None:
    if path.suffix == ".append":
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
