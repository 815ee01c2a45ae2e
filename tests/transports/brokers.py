"""What the MQTT tests run against: both brokers, a client that can say anything, a line to cut."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port
from transports import keys
from transports.broker import launch, packets
from transports.broker.credentials import credentials

KEY = "the key of this test"  # as in conftest
MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
NO_MOSQUITTO = "mosquitto is not installed (apt-get install -y mosquitto)"
KINDS = ["embedded", pytest.param("mosquitto", marks=pytest.mark.skipif(MOSQUITTO is None, reason=NO_MOSQUITTO))]


class Broker:
    """A broker of one kind, which can be killed and started again on its port."""

    def __init__(self, kind: str) -> None:
        self.kind, self.port = kind, 0
        self._embedded: launch.BrokerProcess | None = None
        self._mosquitto: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.mkdtemp(prefix="broker-")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(keys.VARIABLE, KEY)
            self.username, self.password = credentials()
        self.start()

    @property
    def address(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen: on a free port at first, then on the same again."""
        if self.kind == "embedded":
            environment = {**os.environ, keys.VARIABLE: KEY}
            self._embedded = launch.start("--port", str(self.port), environment=environment)
            self.port = int(self._embedded.address.rpartition(":")[2])
        else:
            self.port = self.port or free_port()
            self._mosquitto = self._start_mosquitto()

    def _start_mosquitto(self) -> subprocess.Popen[bytes]:
        assert MOSQUITTO is not None
        folder = Path(self._folder)
        known = folder / "passwords"
        if not known.exists():
            subprocess.run(
                ["mosquitto_passwd", "-b", "-c", known, self.username, self.password], check=True, capture_output=True
            )
        lines = [
            f"listener {self.port} 127.0.0.1",
            "allow_anonymous false",
            f"password_file {known}",
            "set_tcp_nodelay true",
            "persistence false",
            "max_queued_messages 100000",
        ]
        if os.geteuid() == 0:
            lines.append("user root")
        (folder / "conf").write_text("\n".join(lines) + "\n")
        process = subprocess.Popen(
            [MOSQUITTO, "-c", folder / "conf"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = time.monotonic() + 300
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                assert process.poll() is None, "mosquitto ended"
                time.sleep(0.01)
            else:
                return process
        raise AssertionError("mosquitto does not listen")

    def kill(self) -> None:
        """As kill -9 does it."""
        if self._embedded is not None and self._embedded.is_alive():
            os.kill(self._embedded.pid, 9)
            self._embedded.stop()
        if self._mosquitto is not None:
            self._mosquitto.kill()
            self._mosquitto.wait()

    def stop(self) -> None:
        self.kill()
        shutil.rmtree(self._folder)


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack(">H", len(data)) + data


def connect_packet(
    identifier: str = "c",
    name: str | None = None,
    password: str | None = None,
    keepalive: int = 60,
    will: tuple[str, bytes, int, bool] | None = None,
    clean: bool = True,
    protocol: str = "MQTT",
    level: int = 4,
) -> bytes:
    flags = clean << 1 | (name is not None) << 7 | (password is not None) << 6
    parts = [text(identifier)]
    if will is not None:
        topic, payload, qos, retain = will
        flags |= 4 | qos << 3 | retain << 5
        parts += [text(topic), text(payload)]
    parts += [text(part) for part in (name, password) if part is not None]
    head = text(protocol) + bytes((level, flags)) + struct.pack(">H", keepalive)
    return packets.packet(0x10, head, *parts)


class Client:
    """Speaks MQTT byte by byte, so that it can also speak it wrongly."""

    def __init__(self, broker: Broker, identifier: str = "c", **options: Any) -> None:
        self.socket = socket.create_connection(("127.0.0.1", broker.port), 300)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        options = {"name": broker.username, "password": broker.password, **options}
        self.say(connect_packet(identifier, **options))

    def say(self, data: bytes) -> None:
        self.socket.sendall(data)

    def hear(self) -> tuple[int, bytes]:
        """The next packet; EOFError where the connection ends."""
        first, length, shift = self._exactly(1)[0], 0, 0
        while True:
            byte = self._exactly(1)[0]
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return first, self._exactly(length)

    def _exactly(self, nbytes: int) -> bytes:
        data = bytearray()
        while len(data) < nbytes:
            try:
                piece = self.socket.recv(nbytes - len(data))
            except ConnectionError:
                piece = b""
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)

    def welcomed(self) -> Client:
        assert self.hear() == (0x20, b"\0\0")
        return self

    def subscribe(self, *filters: tuple[str, int]) -> bytes:
        body = b"".join(text(name) + bytes((qos,)) for name, qos in filters)
        self.say(packets.packet(0x82, b"\0\x07", body))
        first, answer = self.hear()
        assert first == 0x90 and answer[:2] == b"\0\x07"
        return answer[2:]

    def publish(self, topic: str, payload: bytes, qos: int = 0, retain: bool = False) -> None:
        self.say(b"".join(packets.publish_pieces(packets.PublishedMessage(topic, payload, qos, retain), 9)))
        if qos:
            assert self.hear() == (0x40, b"\0\x09")

    def message(self) -> tuple[str, bytes, int, bool]:
        """The next message: topic, payload, QoS, whether it was retained."""
        return self._message(*self.hear())

    def _message(self, first: int, body: bytes) -> tuple[str, bytes, int, bool]:
        assert first >> 4 == packets.PUBLISH, f"a message was expected, not {first:#x} {body!r}"
        end = 2 + int.from_bytes(body[:2], "big")
        qos = first >> 1 & 3
        if qos:
            self.say(packets.puback(int.from_bytes(body[end : end + 2], "big")))
        return body[2:end].decode(), body[end + 2 * bool(qos) :], qos, bool(first & 1)

    def is_closed(self) -> bool:
        """Whether the broker ends the connection, saying nothing more."""
        try:
            self.hear()
        except EOFError:
            return True
        return False

    def synchronize(self) -> None:
        """Return when everything said before has been handled."""
        self.say(b"\xc0\0")
        assert self.hear() == (0xD0, b"")

    def until_synchronized(self) -> Iterator[tuple[str, bytes, int, bool]]:
        """The messages that come until everything said before has been handled."""
        self.say(b"\xc0\0")
        heard = self.hear()
        while heard != (0xD0, b""):
            yield self._message(*heard)
            heard = self.hear()

    def leave(self, politely: bool = True) -> None:
        if politely:
            self.say(b"\xe0\0")
        self.socket.close()

    def __enter__(self) -> Client:
        return self.welcomed()

    def __exit__(self, *_: object) -> None:
        self.socket.close()


class Proxy:
    """Stands between a client and the broker, and cuts the line on demand."""

    def __init__(self, broker: Broker) -> None:
        self._target = ("127.0.0.1", broker.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"mqtt://127.0.0.1:{self._listener.getsockname()[1]}"
        self._lines: list[socket.socket] = []
        self._threads = [self._start(self._accept)]

    def _start(self, function: Any, *arguments: Any) -> threading.Thread:
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        thread.start()
        return thread

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()
                continue
            self._lines += [near, far]
            self._threads += [self._start(self._pump, near, far), self._start(self._pump, far, near)]

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """End all connections; new ones are let through."""
        for line in self._lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listener.close()
        self.cut()
        for thread in self._threads[1:]:
            thread.join()
        for line in self._lines:
            line.close()


def together(*acts: Callable[[], Any]) -> list[Any]:
    """All at once; the results, or the first error."""
    results: list[Any] = [None] * len(acts)

    def run(place: int) -> None:
        try:
            results[place] = acts[place]()
        except BaseException as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def matches(name: str, topic: str) -> bool:
    """Whether the filter `name` takes in `topic`: the plain rule, which the broker's trees follow."""
    wanted = name.split("/")
    levels = topic.split("/", len(wanted))
    if topic.startswith("$") and wanted[0] in ("+", "#"):  # [MQTT-4.7.2-1]
        return False
    for place, want in enumerate(wanted):
        if want == "#":
            return True
        if place >= len(levels) or want not in ("+", levels[place]):
            return False
    return len(wanted) == len(levels)
