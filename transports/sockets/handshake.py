"""Both ends of a connection prove that they hold the job's key, in three messages of fixed length.

    listener                                             dialer
       │ ── greeting: magic, nonce L ──────────────────────► │
       │ ◄── hello: magic, claim, nonce D, proof ─────────── │   proof   = HMAC(key, "dialer", L, claim, D)
       │ ── welcome: HMAC(key, "listener", L, hello) ──────► │   or 32 zeros: refused
       │    or HMAC(key, "other job", welcome), and whose job │   for a dialer that holds the key, of another job

The dialer has to prove itself first, so a port scanner learns nothing it could try keys on. The
nonces are fresh, so a recorded handshake proves nothing; the roles are part of what is signed, so a
listener's answer cannot be sent back to it; the claim (the dialer, its peer, the world, and the marks of its job) is
signed as well. Names of people, hosts and scripts are told to those only who hold the key. A dialer of an older or
newer version is told so by the greeting, which says the listener's.
This is not encryption. A machine that can change packets on the way can change
all that follows the handshake. Across networks that are not yours use a tunnel.

Pure functions of bytes; `listener` moves them.
"""

from __future__ import annotations

import hmac
import os
import struct
from typing import NamedTuple

from transports import job
from transports.errors import TrustError
from transports.job import JobMarks

MAGIC = b"mtdist\x00\x02"  # the last byte is the version
NONCE = 32
MAC = 32
_CLAIM = struct.Struct(f"<ii16s{job.LENGTH}s")

GREETING_LENGTH = len(MAGIC) + NONCE
HELLO_LENGTH = len(MAGIC) + _CLAIM.size + NONCE + MAC
WELCOME_LENGTH = MAC
TEXT = 512  # bytes of what a listener says of its job, behind which stands its proof
ACCOUNT_LENGTH = TEXT + MAC
REFUSAL = bytes(MAC)  # instead of a welcome, for who does not hold the key


class Claim(NamedTuple):
    """The dialer's own rank, the rank that it wants, a mark of the world (16 bytes at most), and those of its job."""

    src: int
    dst: int
    world: bytes = b""
    job: JobMarks = job.NOBODY


WHO = -2  # a dst: the dialer wants to know whose listener this is, and no connection


def greet() -> bytes:
    """The listener's first message."""
    return MAGIC + os.urandom(NONCE)


def answer(key: bytes, greeting: bytes, claim: Claim) -> tuple[bytes, bytes]:
    """The dialer's hello, and the welcome that it must see in return."""
    if len(greeting) != GREETING_LENGTH or not greeting.startswith(MAGIC):
        raise TrustError(_foreign(greeting))
    body = MAGIC + _CLAIM.pack(*claim[:3], claim.job.packed()) + os.urandom(NONCE)
    hello = body + _sign(key, b"dialer", greeting, body)
    return hello, _sign(key, b"listener", greeting, hello)


def judge(key: bytes, greeting: bytes, hello: bytes) -> tuple[Claim, bytes]:
    """The claim of a dialer that proved to hold the key, and the welcome for it."""
    body, proof = hello[:-MAC], hello[-MAC:]
    if len(hello) != HELLO_LENGTH or not hello.startswith(MAGIC):
        raise TrustError("did not speak the handshake")
    if not hmac.compare_digest(proof, _sign(key, b"dialer", greeting, body)):
        raise TrustError("did not hold the job's key")
    src, dst, world, marks = _CLAIM.unpack_from(body, len(MAGIC))
    claim = Claim(src, dst, world.rstrip(b"\0"), job.unpacked(marks))
    return claim, _sign(key, b"listener", greeting, hello)


def is_welcome(expected: bytes, received: bytes) -> bool:
    return hmac.compare_digest(expected, received)


def instead(key: bytes, welcome: bytes, is_ours: bool) -> bytes:
    """The word of a listener with the key instead of a welcome; an account of its job follows."""
    return _sign(key, b"same job" if is_ours else b"other job", b"", welcome)


def account(key: bytes, welcome: bytes, text: str) -> bytes:
    """The words of a listener about its job, with its proof."""
    data = text.encode(errors="replace")[:TEXT].ljust(TEXT, b"\0")
    return data + _sign(key, b"account", welcome, data)


def read_account(key: bytes, welcome: bytes, data: bytes) -> str:
    """The text of an account; TrustError if a stranger wrote it."""
    text, proof = data[:TEXT], data[TEXT:]
    if not hmac.compare_digest(proof, _sign(key, b"account", welcome, text)):
        raise TrustError("what answered did not hold the job's key")
    return job.clean(text.rstrip(b"\0").decode(errors="replace"))


def _foreign(greeting: bytes) -> str:
    if len(greeting) == GREETING_LENGTH and greeting.startswith(MAGIC[:-1]):
        return (
            f"what answered is minitorch_dist with version {greeting[len(MAGIC) - 1]} of the handshake, and this one "
            f"speaks version {MAGIC[-1]}. Install the same version of minitorch_dist for every rank"
        )
    return f"what answered is no listener of ours: it sent {greeting[:16]!r}. Is another program on that port?"


def _sign(key: bytes, role: bytes, greeting: bytes, message: bytes) -> bytes:
    return hmac.digest(key, role + b"\0" + greeting + message, "sha256")
