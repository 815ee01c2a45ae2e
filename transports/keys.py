"""The job's key: what tells a peer from a stranger.

It comes from the environment variable MINITORCH_DIST_KEY (any text; a long random one, the same on
every host), else from a file in the user's home that is created on first use and readable by
nobody else. So one machine needs no configuration, and several need one variable.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from contextlib import suppress
from pathlib import Path

from transports import keeper
from transports.errors import TrustError

VARIABLE = "MINITORCH_DIST_KEY"
GENERATION = "MINITORCH_DIST_GENERATION"
FILE = ".minitorch_dist_key"
LENGTH = 32
ADVICE = f"or set {VARIABLE} to the same long random text for every rank"


def job_key(purpose: str) -> bytes:
    """32 secret bytes for one purpose; those of two purposes tell nothing about each other."""
    text = os.environ.get(VARIABLE)
    secret = text.encode(errors="surrogateescape") if text else _from_file(Path.home() / FILE)
    return hmac.digest(hashlib.sha256(secret).digest(), purpose.encode(), "sha256")


def world_key(purpose: str) -> bytes:
    """The same for one world only. Workers that an agent starts again are of another generation. A worker that
    is left over of the last one does not hold this key.
    """
    generation = os.environ.get(GENERATION)
    return job_key(f"{purpose}, generation {generation}" if generation else purpose)


def _from_file(path: Path) -> bytes:
    try:
        if not path.exists():
            _create(path)
        return _read(path)
    except OSError as error:
        raise TrustError(
            f"the job's key could not be kept in {path}: {error}. Make that file possible, {ADVICE}"
        ) from error


def _create(path: Path) -> None:
    """Processes that do this at once agree: the file appears whole, and only once."""
    keeper.sweep(path.parent)
    draft = keeper.Draft(path.parent, 0o600)
    try:
        with draft.file() as file:
            file.write(os.urandom(LENGTH))
        os.fsync(draft.held.number)
        with suppress(FileExistsError):  # another process was faster; its key counts
            os.link(draft.path, path)
    finally:
        draft.close()


def _read(path: Path) -> bytes:
    with os.fdopen(keeper.open_file(path), "rb") as file:
        odd = keeper.why_not_ours(file.fileno(), 0o077)
        secret = file.read(LENGTH + 1)
    if odd:
        repair = f"If they do not, run: chmod 600 {path}; otherwise delete it, {ADVICE}"
        raise TrustError(f"{path} with the job's key {odd}, so others may know it. {repair}")
    if len(secret) != LENGTH:
        raise TrustError(f"{path} should hold {LENGTH} random bytes and does not. Delete it, {ADVICE}")
    return secret
