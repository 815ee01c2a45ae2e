"""Both ends of a connection prove that they hold the job's key, in three messages of fixed length.

    listener                                             dialer
       │ ── greeting: magic, nonce L ──────────────────────► │
       │ ◄── hello: magic, claim, nonce D, proof ─────────── │   proof   = HMAC(key, "dialer", L, claim, D)
       │ ── welcome: HMAC(key, "listener", L, hello) ──────► │   or 32 zeros: refused

The dialer has to prove itself first, so a port scanner learns nothing it could try keys on. The
nonces are fresh, so a recorded handshake proves nothing; the roles are part of what is signed, so a
listener's answer cannot be sent back to it; the claim (the dialer, its peer, and the world) is signed as well.
This is not encryption. A machine that can change packets on the way can change
all that follows the handshake. Across networks that are not yours use a tunnel.

Pure functions of bytes; `listener` moves them.
"""

from __future__ import annotations

import hmac
import os
import struct
from typing import NamedTuple

from transports.errors import TrustError

MAGIC = b"mtdist\x00\x01"  # the last byte is the version
NONCE = 32
MAC = 32
_CLAIM = struct.Struct("<ii16s")

GREETING_LENGTH = len(MAGIC) + NONCE
HELLO_LENGTH = len(MAGIC) + _CLAIM.size + NONCE + MAC
WELCOME_LENGTH = MAC
REFUSAL = bytes(MAC)  # instead of a welcome, for who does not hold the key


class Claim(NamedTuple):
    """The dialer's own rank, the rank that it wants, and a mark of the world (16 bytes at most)."""

    src: int
    dst: int
    world: bytes = b""


def greet() -> bytes:
    """The listener's first message."""
    return MAGIC + os.urandom(NONCE)


def answer(key: bytes, greeting: bytes, claim: Claim) -> tuple[bytes, bytes]:
    """The dialer's hello, and the welcome that it must see in return."""
    if len(greeting) != GREETING_LENGTH or not greeting.startswith(MAGIC):
        raise TrustError(
            f"what answered is no listener of ours: it sent {greeting[:16]!r}. "
            "Is another program on that port, or another version?"
        )
    body = MAGIC + _CLAIM.pack(*claim) + os.urandom(NONCE)
    hello = body + _sign(key, b"dialer", greeting, body)
    return hello, _sign(key, b"listener", greeting, hello)


def judge(key: bytes, greeting: bytes, hello: bytes) -> tuple[Claim, bytes]:
    """The claim of a dialer that proved to hold the key, and the welcome for it."""
    body, proof = hello[:-MAC], hello[-MAC:]
    if len(hello) != HELLO_LENGTH or not hello.startswith(MAGIC):
        raise TrustError("did not speak the handshake")
    if not hmac.compare_digest(proof, _sign(key, b"dialer", greeting, body)):
        raise TrustError("did not hold the job's key")
    src, dst, world = _CLAIM.unpack_from(body, len(MAGIC))
    return Claim(src, dst, world.rstrip(b"\0")), _sign(key, b"listener", greeting, hello)


def is_welcome(expected: bytes, received: bytes) -> bool:
    return hmac.compare_digest(expected, received)


def _sign(key: bytes, role: bytes, greeting: bytes, message: bytes) -> bytes:
    return hmac.digest(key, role + b"\0" + greeting + message, "sha256")
