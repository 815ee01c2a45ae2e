"""`mtd class join`: one laptop of a class, until the class is over or Ctrl-C."""

from __future__ import annotations

import argparse
import getpass
import io
import os
import socket
import sys

from rich.console import Console

from mtd.cli.page import Page, refuse
from mtd.course.classroom import names, words
from mtd.course.classroom.host import PORT, STORE
from mtd.course.classroom.pupil import Ended, Pupil
from mtd.refusals import CannotDo
from transports import job, keys
from transports.errors import DistNetworkError, TrustError
from transports.mqtt_protocol.store import MQTTStore
from transports.sockets.endpoints import own_address

PATIENCE = 10.0  # seconds to reach the host
FOREIGN = (  # variables of other programs of this user
    "MINITORCH_DIST_TRANSPORT",
    "MINITORCH_DIST_JOURNAL",
    keys.GENERATION,
    job.VARIABLE,
    job.ELASTIC,
)
REASONS = {"refused": "connection refused", "not known": "there is no machine of this name"}
AWAY = 120  # seconds for which it may then be out of reach


def run(options: argparse.Namespace) -> int:
    page, errors = Page(), Page(Console(file=sys.stderr, highlight=False))
    try:
        host, port = place(options.host)
        word = words.normal(options.word or asked("The word on the projector: "))
        name = options.name or asked(f"Your name [{login()}]: ", login())
    except EOFError:
        return refuse("class join", CannotDo("there is nobody to ask: give --word and --name"))
    except CannotDo as error:
        return refuse("class join", error)
    os.environ[keys.VARIABLE] = words.key(word)
    for foreign in FOREIGN:
        os.environ.pop(foreign, None)
    page.say(f"Looking for the class at {host} …")
    shown = f"[{host}]" if ":" in host else host
    try:
        address = f"mqtt://{shown}:{port}/{STORE}?broker_timeout={AWAY}"
        store = MQTTStore(address, rank=1, timeout=PATIENCE)
    except DistNetworkError as error:
        errors.say(f"mtd class join: {why(error, host, port, word)}")
        return 1
    pupil = Pupil(store, f"{store.mark:016x}", name, where(host), say=page.say)
    try:
        page.say(pupil.run())
        return 0
    except Ended as end:
        errors.say(f"mtd class join: {ending(end)}")
        return 0 if end.is_fine else 1
    except KeyboardInterrupt:
        page.say("\nYou have left the class; it goes on without you. The same command takes you back.")
        return 130
    finally:
        store.close()


def place(said: str) -> tuple[str, int]:
    """Host and port of `HOST`, `HOST:PORT`, `[::1]:PORT`, or of what a browser would take."""
    text = said.strip().removeprefix("mqtt://").rstrip("/")
    host, _, tail = text.rpartition(":") if text.count(":") == 1 or "]:" in text else (text, "", "")
    number = tail or str(PORT)
    host = host.strip("[]")
    is_host = bool(host) and not any(c.isspace() or c in "/@?#" for c in host)
    if not is_host or not number.isdecimal() or not 0 < int(number) < 65536:
        raise CannotDo(f"{said[:60]!r} is no address. The projector shows it, like 192.168.1.5 or 192.168.1.5:{PORT}")
    return host, int(number)


def asked(question: str, otherwise: str = "") -> str:
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # a terminal may write what was not expected
    return input(question).strip() or otherwise


def login() -> str:
    try:
        return names.clean(getpass.getuser()) or names.NOBODY
    except (OSError, KeyError):  # a user without a name
        return names.NOBODY


def where(host: str) -> str:
    """The name of this machine, and the address by which it would reach the host."""
    return f"{socket.gethostname()}, {own_address(host)}"


def why(error: Exception, host: str, port: int, word: str) -> str:
    """Why the class could not be reached, and what to do."""
    if isinstance(error, TrustError):
        unknown = words.unknown(word)
        hint = f" ({', '.join(unknown)}: that looks mistyped)" if unknown else ""
        return f"the word is not the one of the class at {host}{hint}. It stands on the projector; it is another one each time"
    if "nobody keeps" in str(error):
        return f"there is a broker at {host}, port {port}, but no class. Has the teacher run: mtd class host?"
    return (
        f"no class answers at {host}, port {port}, in {PATIENCE:g} s ({reason(error)}). Is the address the one on the "
        "projector? Is this laptop in the same network, and does no firewall of the teacher's machine stand between?"
    )


def reason(error: Exception) -> str:
    text = str(error)
    for part in ("refused", "timed out", "unreachable", "not known", "No route"):
        if part.lower() in text.lower():
            return REASONS.get(part, part.lower())
    return "it does not answer"


def ending(end: Ended) -> str:
    text = str(end)
    if "rank 0 closed it" in text:
        return "the class is over: the teacher has closed it"
    if "began anew" in text:
        return "the teacher has begun another class. Join again, with the new word"
    if "does not answer" in text or "was away" in text:
        return "the teacher's machine does not answer any more, so the class is over. If it comes back, join again"
    return text
