"""Messages between ranks of which none knows who speaks next: any plain value, arrays, and functions of this stack.

Nothing is unpickled. A function travels as its name, and only those of this package are called.
"""

import base64
import builtins
import importlib
import json

import numpy as np

from .. import messages
from . import world
from .tensors import Tensor

STACK = __name__.rpartition(".face.")[0]
SLICE = 0.01  # seconds between two looks at whether all are silent
LONG = 10.0  # seconds after which a waiting rank has nothing else to do


class MessageBox:
    """One rank's mailbox."""

    def __init__(self):
        self.world = here = world.current()
        self.rank, self.size = here.rank, here.size
        here.extras["posts"] = here.extras.get("posts", 0) + 1
        self.key = f"post {here.extras['posts']}"
        self.idle = [f"{self.key} idle {rank}" for rank in range(self.size)]
        self.sent = self.received = 0
        self.seen = None

    def send(self, dst, message):
        """It does not wait for `dst`, which may be this rank."""
        self.sent += 1
        data = json.dumps(packed(message)).encode()
        self.world.post(dst, world.OBJECTS, np.frombuffer(data, np.uint8))

    def receive(self, timeout=None):
        """The next message and its sender; None if none came in `timeout` seconds, or none can come any more."""
        deadline = self.world.clock.deadline(timeout)
        while not self.world.objects:
            is_idle = timeout is None or timeout >= LONG
            if deadline.is_over() or (is_idle and self.is_silent()):
                return None
            self.world.wait(min(SLICE, deadline.left() or SLICE))
        self.world.store.delete_key(self.idle[self.rank])
        self.received += 1
        src, data = self.world.objects.popleft()
        return src, unpacked(json.loads(data))

    def is_silent(self):
        """Whether all ranks are idle, and all that was sent has been received; seen so twice (Mattern 1987)."""
        store = self.world.store
        store.set(self.idle[self.rank], f"{self.sent} {self.received}")
        if not store.check(self.idle):
            return False
        before, self.seen = self.seen, [store.look(key).split() for key in self.idle]
        whole = [counts for counts in self.seen if len(counts) == 2]
        sent, received = (sum(int(counts[i]) for counts in whole) for i in (0, 1))
        return len(whole) == self.size and sent == received and self.seen == before

    def leave(self):
        """Return when every rank wants to leave."""
        if self.world.store.add(self.key, 1) == self.size:
            self.world.store.set(f"{self.key} over", "")
        self.world.store.wait([f"{self.key} over"])


def packed(value):
    """As JSON can hold it: what is no plain value becomes a pair of a word and what belongs to it.

    An object with `made_by` says which function of this stack makes it anew, and of what.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [packed(one) for one in value]}
    if isinstance(value, dict):
        return {"dict": [[packed(key), packed(one)] for key, one in value.items()]}
    if isinstance(value, (Tensor, np.ndarray)):
        is_tensor = isinstance(value, Tensor)
        header, payload = messages.encode(value.array if is_tensor else value)
        return {
            "tensor" if is_tensor else "array": [
                header.decode(),
                base64.b64encode(payload).decode(),
            ]
        }
    if isinstance(value, Exception):
        return {"error": [type(value).__name__, str(value)]}
    if hasattr(value, "made_by"):
        return {"made": [packed(one) for one in value.made_by()]}
    if callable(value) and value.__module__.startswith(f"{STACK}."):
        return {"function": [value.__module__.removeprefix(f"{STACK}."), value.__qualname__]}
    raise TypeError(
        f"{value!r} cannot go to another rank: a plain value, an array, a function of this stack can"
    )


def unpacked(said):
    if not isinstance(said, dict):
        return said
    ((word, held),) = said.items()
    if word in ("list", "tuple"):
        values = [unpacked(one) for one in held]
        return tuple(values) if word == "tuple" else values
    if word == "dict":
        return {unpacked(key): unpacked(one) for key, one in held}
    if word in ("tensor", "array"):
        array = messages.decode(held[0].encode(), base64.b64decode(held[1]))
        return Tensor(array) if word == "tensor" else array
    if word == "error":
        kind = getattr(builtins, held[0], None)
        is_known = isinstance(kind, type) and issubclass(kind, Exception)
        return kind(held[1]) if is_known else RuntimeError(f"{held[0]}: {held[1]}")
    if word == "made":
        maker, *given = [unpacked(one) for one in held]
        return maker(*given)
    module, name = held
    function = vars(importlib.import_module(f"{STACK}.{module}"))[name]
    if not callable(function) or function.__module__ != f"{STACK}.{module}":
        raise TypeError(f"{name} of {module} is not to be called from elsewhere")
    return function
