"""torch.distributed.rpc, as lesson 25 asks for it, over lesson 22's calls: names of ranks, and references to objects.

An RRef's object stays on its owner until the program ends. Lesson 23 says when it could be freed.
"""

from types import SimpleNamespace

from .. import calls
from . import world
from .futures import Future

FOREVER = 1e9


def init_rpc(name, rpc_backend_options=None):
    world.current().extras["objects"] = []
    calls.init_rpc(name)


shutdown = calls.shutdown


def TensorPipeRpcBackendOptions(num_worker_threads):
    """A rank here has one thread, which serves while it waits."""


def rpc_async(to, func, args=(), timeout=None):
    return calls.rpc_async(int(to.removeprefix("rank")), func, args)


class RRef:
    """A reference to an object on rank `owner`."""

    def __init__(self, value, owner=None, number=None):
        objects = world.current().extras["objects"]
        if owner is None:
            objects.append(value)
        self.owner = world.current().rank if owner is None else owner
        self.number = len(objects) - 1 if number is None else number

    def made_by(self):
        return again, self.owner, self.number

    def rpc_sync(self, timeout=None):
        return Proxy(self)


def again(owner, number):
    """A reference that came from another rank."""
    return RRef(None, owner, number)


class Proxy:
    """Its methods are those of the object."""

    def __init__(self, reference):
        self.reference = reference

    def __getattr__(self, method):
        def call(*args):
            wanted = (self.reference.number, method, args)
            return calls.rpc_sync(self.reference.owner, called, wanted)

        return call


def called(number, method, args):
    """On the owner: call it. A method that answers later is waited for, and others are served meanwhile."""
    here = world.current()
    result = getattr(here.extras["objects"][number], method)(*args)
    if isinstance(result, Future):
        here.extras["calls"].drive(FOREVER, result.done)
        return result.result
    return result


functions = SimpleNamespace(async_execution=lambda function: function)
