"""A peer that says whatever it likes to a worker on which MINITORCH_DIST_ALLOW_PICKLE=0.

    python -m tests.rpc.attacks 2000      tries so many conversations; prints what they made the process do

It runs in a process of its own: a hook of Python's (`sys.addaudithook`) sees every import, every program,
every file and every piece of code, and cannot be taken away again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import minitorch_dist as mtd
from minitorch_dist.distributed import optim as distributed_optim, rpc, world
from minitorch_dist.distributed.codec import kinds, registry, trust
from minitorch_dist.distributed.codec.writer_and_reader import _WRITERS, Writer
from minitorch_dist.distributed.rpc import serve
from minitorch_dist.distributed.rpc.agent import current
from tests.distributed.codec.built import built
from tests.rpc.worlds import run

assert distributed_optim  # its functions are registered
seen: list[str] = []  # what the audit hook saw while somebody attacked
ran: list[str] = []  # what of ours was called and was not registered
outcomes: Counter[str] = Counter()
is_watched = False

WATCHED = (
    "import", "exec", "compile", "subprocess.", "os.", "ctypes.", "pty.", "socket.", "marshal.", "pickle.",
    "code.", "shutil.", "webbrowser.", "sys._getframe", "function.__new__", "builtins.input",
)  # fmt: skip
HARMLESS = ("os.urandom", "sys._getframe", "code.__new__")


def hook(event: str, arguments: Any) -> None:
    if not is_watched or event in HARMLESS:
        return
    if event == "compile" and arguments[1] == "<unknown>":
        return  # a traceback looks where in its line the error is; it is not carried out
    if event == "open":
        name, mode, _ = arguments
        if mode in ("r", "rb") and (str(name).endswith(".py") or name == "<unknown>"):
            return  # the lines of a traceback
        seen.append(f"open {name!r} {mode}")
    elif event.startswith(WATCHED):
        seen.append(f"{event} {str(arguments)[:80]}")


class Unregistered:
    def touched(self) -> str:
        ran.append("a method of a class that was not registered")
        return "touched"

    def __call__(self, *arguments: Any) -> None:
        ran.append("an object that can be called")


@rpc.functions.register
class Shelf(Unregistered):
    """Keeps what it is given, and has what a peer must not reach."""

    class Inner:
        def __init__(self, *arguments: Any) -> None:
            ran.append("a class inside of a class")

    program = subprocess.Popen

    def __init__(self, *things: Any) -> None:
        self.things, self.tool, self.object = list(things), os.system, Unregistered()

    @property
    def secret(self) -> str:
        ran.append("a property")
        return "secret"

    def put(self, thing: Any) -> None:
        self.things.append(thing)

    def get(self, number: int = -1) -> Any:
        return self.things[number]

    def all(self) -> Any:
        return self.things, self.object

    def _hidden(self) -> None:
        ran.append("a method with _")

    @staticmethod
    def plain(*arguments: Any) -> Any:
        return arguments

    @classmethod
    def of_class(cls, *arguments: Any) -> Any:
        return cls(*arguments)


@rpc.functions.register
def same(thing: Any = None) -> Any:
    return thing


@rpc.functions.register
def fail(thing: Any = None) -> None:
    raise KeyError(thing)


def not_registered(*arguments: Any) -> None:
    ran.append("a function that was not registered")


METHODS = (
    "__class__", "__init__", "__reduce_ex__", "__reduce__", "__subclasses__", "__getattribute__", "__dict__", "__call__",
    "__globals__", "__getitem__", "__setattr__", "mro", "__mro__", "__base__", "with_traceback", "add_note",
    "__traceback__", "__func__", "__self__", "format", "func", "communicate", "touched", "tool", "object", "program",
    "Inner", "secret", "_hidden", "put", "get", "all", "plain", "of_class", "things", "forward", "apply", "parameters",
    "register_forward_hook", "step", "backward", "state_dict", "load_state_dict", "add", "tofile", "register_hook", "save",
    "get_submodule", "add_module", "type", "", ".", "things.append", "__class__.__mro__",
)  # fmt: skip
FUNCTIONS = (
    "os:system", "subprocess:Popen", "subprocess:run", "builtins:eval", "builtins:exec", "builtins:getattr",
    "builtins:open", "builtins:__import__", "builtins:print", "builtins:type", "builtins:object", "builtins:KeyError",
    "functools:partial", "functools:reduce", "operator:attrgetter", "operator:methodcaller", "importlib:import_module",
    "antigravity:fly", "this:s", "tests.rpc.attacks:not_registered", "tests.rpc.attacks:Unregistered",
    "tests.rpc.attacks:Unregistered.touched", "tests.rpc.attacks:Shelf.program", "tests.rpc.attacks:Shelf.Inner",
    "tests.rpc.attacks:Shelf._hidden", "tests.rpc.attacks:Shelf.secret", "tests.rpc.attacks:Shelf.__init__",
    "tests.rpc.attacks:Shelf.put.__globals__", "tests.rpc.attacks:Shelf.touched", "minitorch_dist:load", "minitorch_dist:save",
    "minitorch_dist.tensors.tensor:Tensor", "minitorch_dist.tensors.tensor:Tensor.add",
)  # fmt: skip
MODULES = [name for name in registry._open if "modules" in name or ".optim." in name]

names = st.one_of(
    st.sampled_from(["tests.rpc.attacks:Shelf", "tests.rpc.attacks:same", "tests.rpc.attacks:fail"]),
    st.sampled_from(["tests.rpc.attacks:Shelf.plain", "tests.rpc.attacks:Shelf.of_class"]),
    st.sampled_from(sorted(registry._open)),
    st.sampled_from(FUNCTIONS),
    st.sampled_from(MODULES),
)
plain = st.one_of(
    st.none(),
    st.integers(-2, 3),
    st.text(max_size=3),
    st.sampled_from(METHODS),
    st.sampled_from(["id", "touch /tmp/x", "{0.__class__.__mro__}"]),
    st.just([]),
    st.just({"shell": True}),
    st.builds(lambda seed: ("built", seed), st.integers(0, 2**32)),
    st.builds(lambda name: ("named", name), names),
    st.builds(lambda number: ("handle", number), st.integers(0, 9)),
)
step = st.tuples(
    st.sampled_from(["call", "method", "keep call", "keep method", "keep method", "type", "fetch", "raw"]),
    st.integers(0, 9),
    names,
    st.sampled_from(METHODS),
    st.lists(plain, max_size=3),
    st.dictionaries(st.sampled_from(["thing", "fn", "hook", "things"]), plain, max_size=1),
)


BEGIN: list[Any] = [  # so that there are objects to go on from
    ("keep call", 0, "tests.rpc.attacks:Shelf", "", [1, ("named", "tests.rpc.attacks:same")], {}),
    ("keep call", 0, "tests.rpc.attacks:same", "", ["text {0.__class__}"], {}),
    ("keep call", 0, "tests.rpc.attacks:same", "", [("named", "builtins:KeyError")], {}),
    ("keep call", 0, "minitorch_dist.nn.modules.linear:Linear", "", [2, 1], {}),
    ("keep method", 0, "", "all", [], {}),
]


class Attack:
    """A value that writes itself as it likes."""

    def __init__(self, write: Callable[[Writer], None]) -> None:
        self.write = write


_WRITERS[Attack] = lambda writer, attack: attack.write(writer)


class Attacker:
    """Writes requests byte by byte, past all that a writer refuses."""

    def __init__(self) -> None:
        self.agent, self.handles, self.number = current(), list[int](), 0
        self.there = self.agent.workers.find("w1")

    def value(self, writer: Any, value: Any) -> None:
        match value:
            case ("built", seed):
                writer.out += built(Random(seed))
            case ("named", name):
                writer.out.append(kinds.NAMED)
                writer.text(name)
            case ("handle", number) if self.handles:
                place = self.handles[number % len(self.handles)]
                writer.out += bytes([kinds.OTHER, 2])
                writer.value((1, (0, place), (0, 1 << 40), 0))
            case list() | tuple() as items:
                writer.out += kinds.KIND_AND_COUNT.pack(kinds.TUPLE, len(items))
                for item in items:
                    self.value(writer, item)
            case dict() as table:
                writer.out += kinds.KIND_AND_COUNT.pack(kinds.DICT, len(table))
                for key, item in table.items():
                    self.value(writer, key)
                    self.value(writer, item)
            case other:
                writer.value(other)

    def ask(self, operation: int, asked: Any) -> bool:
        """Whether the answer was no error."""
        future = self.agent.call(
            self.there, operation, Attack(lambda writer: self.value(writer, asked)), "an attack", 20.0
        )
        try:
            future.wait()
        except Exception as error:
            outcomes[type(error).__name__] += 1
            return False
        outcomes["answered"] += 1
        return True

    def take(self, how: str, handle: int, name: str, method: str, args: Any, kwargs: Any) -> None:
        asked: Any = (("named", name), tuple(args), kwargs)
        at = (0, self.handles[handle % len(self.handles)]) if self.handles else None
        if how in ("method", "keep method"):
            if at is None:
                return
            asked = (at, method, tuple(args), kwargs)
        if how.startswith("keep"):
            operation = serve.METHOD if how == "keep method" else serve.CALL
            self.number += 2
            made = (0, self.number), (0, self.number + 1), "here", operation, asked
            if self.ask(serve.REMOTE, made):
                self.handles.append(self.number)
        elif how == "raw":
            self.ask(handle % (serve.ABORT + 1), args[0] if args else None)
        elif how in ("type", "fetch"):
            if at is not None:
                self.ask(serve.TYPE if how == "type" else serve.FETCH, (at, None))
        else:
            self.ask(serve.METHOD if how == "method" else serve.CALL, asked)


def converse(steps: list[Any]) -> None:
    global is_watched

    is_over: list[bool] = []

    def program(rank: int) -> None:
        global is_watched
        if rank:
            while not is_over:
                world.place().clock.sleep(1.0)
        else:
            attacker = Attacker()
            attacker.ask(serve.CALL, (("named", "tests.rpc.attacks:same"), (1,), {}))  # all is warm
            is_watched = True
            for one in (*BEGIN, *steps):
                attacker.take(*one)
            is_watched = False
            is_over.append(True)

    run(program, 2, "sim://", shut=lambda: rpc.shutdown(graceful=False))


def main(count: int) -> None:
    os.environ[trust.VARIABLE] = "0"
    sys.addaudithook(hook)

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(step, min_size=10, max_size=30))
    def attack(steps: list[Any]) -> None:
        converse(steps)
        assert not seen and not ran, (seen[:3], ran[:3], steps)

    warm: Callable[[list[Any]], None] = converse
    warm([("call", 0, "tests.rpc.attacks:fail", "", [], {}), ("keep call", 0, MODULES[0], "", [], {})])
    seen.clear()
    attack()
    print(f"nothing was run; {outcomes.total()} requests: {dict(outcomes.most_common())}")


if __name__ == "__main__":
    assert mtd and __name__ == "__main__"
    import tests.rpc.attacks as here

    if "--any-method" in sys.argv:  # as it was, to see that it would be found
        rpc.functions.method = getattr
    here.main(int(sys.argv[1]))
