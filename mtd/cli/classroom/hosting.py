"""`mtd class host`: opens a class, and stays its console until it is finished."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

from rich.console import Console as Terminal

from mtd.cli import keyboard
from mtd.cli.classroom.screen import ScreenLines, Whole
from mtd.cli.page import Page, refuse
from mtd.course.classroom import pages, racing, words
from mtd.course.classroom.console import Console, Finish
from mtd.course.classroom.guard import StoreGuard
from mtd.course.classroom.host import PORT, STORE, ClassHost
from mtd.course.classroom.room import ClassPlan, Room
from mtd.course.classroom.training import STEPS
from mtd.pages import whole_files
from mtd.refusals import CannotDo
from transports import job, keys
from transports.broker import launch
from transports.broker.credentials import OWNER, OWNER_KEY, owner_password
from transports.clock import SYSTEM
from transports.errors import DistError, DistNetworkError
from transports.mqtt_protocol.store import MQTTStore
from transports.sockets.endpoints import own_address

LOOPBACK = "127.0.0.1"
MOST_SEATS = 256
TICK = 0.02  # seconds between two looks at the desk
FRESH = 1.0  # seconds between two pages
FAREWELL = 20.0  # seconds for goodbyes; a silent laptop is waited for less long


def run(options: argparse.Namespace) -> int:
    try:
        check(options)
        word = words.normal(options.word) if options.word else words.draw()
    except CannotDo as error:
        return refuse("class host", error)
    os.environ[keys.VARIABLE] = words.key(word)
    for foreign in (keys.GENERATION, job.VARIABLE, job.ELASTIC):  # of what has started us
        os.environ.pop(foreign, None)
    guard, owner = StoreGuard(), os.urandom(32).hex()
    try:
        broker = Broker(options.listen, options.port, owner)
    except DistNetworkError as error:
        print(f"mtd class host: {in_words(error, options)}", file=sys.stderr)
        return 1
    with broker:
        place = f"{OWNER}:{owner_password(owner)}@{near(options.listen)}:{broker.port}"
        try:
            store = MQTTStore(f"mqtt://{place}/{STORE}", rank=0, timeout=20, guard=guard)
        except DistError as error:
            print(f"mtd class host: {error}", file=sys.stderr)
            return 1
        try:
            room = Room(options.seats, ClassPlan(steps=options.steps, pace=options.pace))
            join = join_with(options, broker.port, word)
            return teach(options, ClassHost(store, room, guard), broker, join)
        finally:
            store.close()


class Broker:
    """The class's own broker, in a process of its own; it is started again if it should end."""

    def __init__(self, listen: str, port: int, owner: str) -> None:
        self.listen, self.port, self._owner = listen, port, owner
        self._process = self._start()
        self.port = int(self._process.address.rpartition(":")[2])

    def _start(self) -> launch.BrokerProcess:
        words = ("--host", self.listen, "--port", str(self.port), "--private", f"mtd/{STORE}/s")
        return launch.start(*words, environment={**os.environ, OWNER_KEY: self._owner})

    def tend(self) -> str:
        """Start the broker again if it has died, and say so. All clients come back by themselves."""
        if self._process.is_alive():
            return ""
        self._process.stop()
        try:
            self._process = self._start()
        except DistNetworkError as error:
            return f"the broker has ended, and does not start again: {error}"
        return "the broker had ended, and was started again"

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()


def check(options: argparse.Namespace) -> None:
    if not 1 <= options.seats <= MOST_SEATS:
        raise CannotDo(f"--seats {options.seats}: between 1 and {MOST_SEATS}")
    if not 1 <= options.steps <= STEPS:
        raise CannotDo(f"--steps {options.steps}: between 1 and {STEPS}, so many are recorded in lesson 4")
    if not 0 <= options.pace <= 60:
        raise CannotDo(f"--pace {options.pace}: between 0 and 60 seconds")
    racing.contest(options.race)
    for path in (options.page, options.certificate):
        if not path.resolve().parent.is_dir():
            raise CannotDo(f"there is no folder for {path}")


def in_words(error: Exception, options: argparse.Namespace) -> str:
    text = str(error)
    if "in use" in text:
        return (
            f"port {options.port} is taken, perhaps by another class or broker on this machine. End it, or take "
            f"another port: mtd class host --port {options.port + 1}"
        )
    return text


def near(listen: str) -> str:
    """By which address this machine itself reaches the broker."""
    host = {"0.0.0.0": LOOPBACK, "::": "::1"}.get(listen, listen)
    return f"[{host}]" if ":" in host else host


def reachable(options: argparse.Namespace) -> str:
    """By which address laptops most likely reach this machine."""
    if options.address:
        return str(options.address)
    if options.listen not in ("0.0.0.0", "::"):
        return str(options.listen)
    found = own_address("")
    return socket.gethostname() if found == LOOPBACK else found


def join_with(options: argparse.Namespace, port: int, word: str) -> str:
    host = reachable(options)
    shown = host if port == PORT else f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"mtd class join {shown} --word {word}"


def teach(options: argparse.Namespace, host: ClassHost, broker: Broker, join: str) -> int:
    """The console, until finish or Ctrl-C."""
    room, is_whole = host.room, keyboard.is_there() and not options.plain
    with Whole(room, join) if is_whole else ScreenLines(room, join, Page(Terminal(highlight=False))) as screen:
        status = _converse(host, broker, screen, options, join)
        _end(host, status)
        _write(options.page, pages.live(room, join))
    _report(room, options, status)
    return status


def _converse(
    host: ClassHost, broker: Broker, screen: Whole | ScreenLines, options: argparse.Namespace, join: str
) -> int:
    console, fresh = Console(host.room, options.race), SYSTEM.deadline(0)
    screen.say(f"The page for the projector: {options.page}   help lists all words")
    try:
        while True:
            host.pump()
            if fresh.is_over():
                said = [broker.tend(), _write(options.page, pages.live(host.room, join))]
                fresh = SYSTEM.deadline(60 if said[1] else FRESH)
                for line in filter(None, said):
                    screen.say(line)
            for line in screen.read(TICK):
                answer = screen.picture() if line.strip().startswith("pic") else console.do(line)
                host.send()
                if answer:
                    screen.say(answer)
            screen.show()
    except Finish:
        return 0
    except KeyboardInterrupt:
        return 130


def _end(host: ClassHost, status: int) -> None:
    """Tell everybody, and wait until they have answered: an order that was fetched may still be on its way."""
    room = host.room
    if status == 0 and room.is_golden:
        text = f"The class is over: {room.step} steps, and the weights are the golden ones, bit for bit."
    elif status == 0:
        text = f"The class is over after {room.step} steps." if room.step else "The class is over."
    else:
        text = "The class is over: the teacher has ended it."
    room.end(text)
    host.send()
    deadline = SYSTEM.deadline(FAREWELL)
    with suppress(KeyboardInterrupt):
        while room.unparted and not deadline.is_over():
            SYSTEM.sleep(TICK)
            host.pump()


def _write(path: Path, text: str) -> str:
    """Write the page. Returns what went wrong, or an empty text."""
    try:
        # Whole, because the browser may read at any time.
        whole_files.write(path, text.encode(errors="replace"))
    except OSError as error:
        return f"the page {path} cannot be written: {error.strerror}"
    return ""


def _report(room: Room, options: argparse.Namespace, status: int) -> None:
    page = Page(Terminal(highlight=False))
    if room.step:
        trouble = _write(options.certificate, pages.certificate(room))
        sign = "✔" if room.is_golden else "✘" if room.is_finished else "–"
        said = room.verdict if room.is_finished else "training was not finished"
        page.say(f"{sign} {room.step} steps: {said}")
        page.say(trouble or f"wrote {options.certificate}")
    else:
        page.say("The class is over." if status == 0 else "The class was ended.")
