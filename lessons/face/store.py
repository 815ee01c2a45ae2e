"""The store at which ranks meet (lesson 10): the launcher keeps it, and ranks ask over TCP, with lesson 09's messages.

It also keeps the checkpoint, in lesson 29's office.
"""

import json
import socket
import threading
from contextlib import suppress

import numpy as np

from .. import messages, stream
from ..generations import Outdated
from .errors import DistTimeout

PATIENCE = 60.0


class Keeper:
    """All keys, and what can be done with them. Every operation is done at once, or waits."""

    def __init__(self, office, machine, host):
        self.office, self.machine = office, machine
        self.values, self.news = {}, threading.Condition()
        self.server = socket.create_server(host)
        self.address = "{}:{}".format(*self.server.getsockname())
        self.trouble = None  # what went wrong while we served
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        with suppress(OSError):  # until it is closed
            while True:
                connection, _ = self.server.accept()
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        """One rank's questions, until it leaves."""
        with connection:
            try:
                while (asked := stream.receive(connection)) is not None:
                    operation, *said = json.loads(bytes(asked[0]))
                    try:
                        answer, payload = getattr(self, operation)(bytes(asked[1]), *said)
                    except (DistTimeout, Outdated) as error:
                        answer, payload = {"error": type(error).__name__, "said": str(error)}, b""
                    stream.send(connection, json.dumps(answer).encode(), payload)
            except (OSError, EOFError):
                pass  # it was killed
            except Exception as error:
                self.trouble = error

    def set(self, value, key):
        with self.news:
            self.values[key] = value
            self.news.notify_all()
        return None, b""

    def wait(self, _, keys, timeout=PATIENCE):
        with self.news:
            if not self.news.wait_for(lambda: all(key in self.values for key in keys), timeout):
                missing = [key for key in keys if key not in self.values]
                raise DistTimeout(f"waited {timeout:g} s for {', '.join(missing)} in the store")
        return None, b""

    def get(self, _, key):
        self.wait(_, [key])
        return None, self.values[key]

    def look(self, _, key):
        """Returns the value that is there now; empty bytes if there is none."""
        return None, self.values.get(key, b"")

    def add(self, _, key, amount):
        with self.news:
            now = int(self.values.get(key, b"0")) + amount
            self.set(b"%d" % now, key)
        return now, b""

    def has(self, key):
        return key in self.values

    def wait_until(self, key, least, timeout):
        """Wait until this number is large enough, or the time is over. Returns the number. (Only the launcher asks this.)"""
        with self.news:
            self.news.wait_for(lambda: int(self.values.get(key, b"0")) >= least, timeout)
            return int(self.values.get(key, b"0"))

    def check(self, _, keys):
        return all(key in self.values for key in keys), b""

    def compare_set(self, value, key, expected):
        with self.news:
            if self.values.get(key, b"") == expected.encode():
                self.set(value, key)
            return None, self.values.get(key, b"")

    def delete_key(self, _, key):
        with self.news:
            return self.values.pop(key, None) is not None, b""

    def save(self, payload, generation, step, header):
        weights = messages.decode(header.encode(), payload)
        with self.news:
            self.office.save(self.machine, generation, step, weights)
        return None, b""

    def load(self, _):
        step, weights = self.office.checkpoint
        header, payload = messages.encode(np.zeros(0) if weights is None else weights)
        return [step, header.decode()], payload

    def close(self):
        self.server.close()


class Store:
    """A rank's way to the keeper."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.connection, self.turn = socket.create_connection((host, int(port))), threading.Lock()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        notice_silence(self.connection)
        self.here = self.connection.getsockname()[0]  # this machine's address in that network

    def ask(self, operation, *said, payload=b""):
        with self.turn:
            stream.send(self.connection, json.dumps([operation, *said]).encode(), payload)
            answer = stream.receive(self.connection)
        if answer is None:
            raise DistTimeout("the store is gone")
        value = json.loads(bytes(answer[0]))
        if isinstance(value, dict):
            raise {"Outdated": Outdated}.get(value["error"], DistTimeout)(value["said"])
        return value, bytes(answer[1])

    def set(self, key, value):
        self.ask("set", key, payload=as_bytes(value))

    def get(self, key):
        return self.ask("get", key)[1]

    def look(self, key):
        return self.ask("look", key)[1].decode()

    def add(self, key, amount):
        return self.ask("add", key, amount)[0]

    def wait(self, keys, timeout=None):
        self.ask("wait", keys, timeout or PATIENCE)

    def check(self, keys):
        return self.ask("check", keys)[0]

    def compare_set(self, key, expected, value):
        return self.ask("compare_set", key, expected, payload=as_bytes(value))[1]

    def delete_key(self, key):
        return self.ask("delete_key", key)[0]

    def save(self, generation, step, weights):
        header, payload = messages.encode(weights)
        self.ask("save", generation, step, header.decode(), payload=payload)

    def load(self):
        (step, header), payload = self.ask("load")
        return step, messages.decode(header.encode(), payload)


def notice_silence(connection):
    """Let the system end this connection when the other machine has not answered for half a minute: it is off, or a cable is."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", 15),  # seconds without a message; then the system asks the other one
        ("TCP_KEEPINTVL", 5),  # seconds between two such questions
        ("TCP_KEEPCNT", 3),  # questions without an answer
        ("TCP_USER_TIMEOUT", 30_000),  # milliseconds in which what we sent is not acknowledged
    ):
        with suppress(AttributeError, OSError):  # not every system has all four
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class PrefixStore:
    """A store within a store: its keys have a prefix."""

    def __init__(self, prefix, store):
        self.prefix, self.store = prefix, store

    def __getattr__(self, operation):
        """The same operation, with the prefix before a key or before each of several."""
        ask = getattr(self.store, operation)

        def asked(key, *said):
            many = isinstance(key, list)
            return ask([self.name(one) for one in key] if many else self.name(key), *said)

        return asked

    def name(self, key):
        return f"{self.prefix}/{key}"


def as_bytes(value):
    return value.encode() if isinstance(value, str) else bytes(value)
