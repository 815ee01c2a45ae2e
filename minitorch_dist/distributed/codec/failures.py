"""Exceptions: the type by name, its args and attributes, and the traceback as text.

    EXCEPTION    NAMED class or NONE · TUPLE args · DICT attributes · TEXT repr · TEXT traceback

An exception is rebuilt without its constructor, as `cls.__new__(cls, *args)`. So it keeps its own
type even if its constructor takes other things than it puts into `args`. (torch calls the
constructor with a text, and makes a RuntimeError of those that fail.) The traceback hangs beneath
as `__cause__`. Only an exception whose class is not found by its name becomes a `RemoteException`.
"""

from __future__ import annotations

import builtins
import traceback
from types import BuiltinFunctionType, WrapperDescriptorType
from typing import Any, Final

from minitorch_dist.distributed import exceptions
from minitorch_dist.distributed.codec import kinds
from minitorch_dist.distributed.codec.errors import CodecError, DamagedEncoding, UnknownName, shown
from minitorch_dist.distributed.codec.registry import register_name
from minitorch_dist.distributed.codec.writer_and_reader import READERS, Reader, Writer, keeping, once, writes
from transports.plain_text import clean

_SLOT: Final = (WrapperDescriptorType, BuiltinFunctionType)


class RemoteTraceback(Exception):
    """The traceback that an exception had where it was raised, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return clean(f"\n\n{self.text}")


class RemoteException(RuntimeError):
    """Stands for an exception whose class is not here; `name` and `text` say what it was."""

    def __init__(self, name: str, text: str, why: str = "") -> None:
        super().__init__(f"{text} (its class {name} cannot be had here: {why})")
        self.name, self.text, self.why = name, text, why

    def __str__(self) -> str:
        return clean(super().__str__())

    def __reduce__(self) -> tuple[type[RemoteException], tuple[str, str, str]]:
        return type(self), (self.name, self.text, self.why)


for _kind in (*vars(builtins).values(), *vars(exceptions).values(), *globals().copy().values()):
    if isinstance(_kind, type) and issubclass(_kind, BaseException):
        register_name(_kind)


@once
def write(writer: Writer, error: BaseException) -> None:
    """Write an exception. A part of it that cannot be sent is left out; the exception itself always can."""
    writer.out.append(kinds.EXCEPTION)
    start = writer.mark()
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    try:
        writer.value(type(error))
        writer.value(_arguments(error))
    except (CodecError, RecursionError) as why:
        writer.back_to(start)
        writer.value(None)
        writer.value((name, _short(error), str(why)))
    sendable = {}
    for key, attribute in list(getattr(error, "__dict__", {}).items()):
        if not _may_have(type(error), key, attribute):
            continue
        here = writer.mark()
        try:
            writer.value(attribute)
            sendable[key] = attribute
        except (CodecError, RecursionError):
            pass  # a lock, a socket: it stays where it is
        writer.back_to(here)
    writer.value(sendable)
    writer.text(_short(error))
    writer.text(_told(error))


def _arguments(error: BaseException) -> tuple[Any, ...]:
    """The arguments of its native constructor; an OSError's args lack the names of files."""
    if isinstance(error, OSError) and type(error).__reduce__ is OSError.__reduce__:
        return tuple(error.__reduce__()[1])
    return tuple(error.args)


def _short(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _told(error: BaseException) -> str:
    if error.__traceback__ is None and error.__cause__ is None:
        return ""
    return "".join(traceback.format_exception(error)).rstrip()


@keeping
def read(reader: Reader) -> BaseException:
    kind: Any = None
    why = ""
    try:
        kind = reader.value()
    except UnknownName as error:  # the name was read, only nobody has it
        why = str(error)
    args, attributes = reader.value(), reader.value()
    short, told = reader.text(), reader.text()
    if type(args) is not tuple or type(attributes) is not dict:
        raise DamagedEncoding("the arguments of an exception")
    found: BaseException
    if kind is None:
        words = ("?", short, why) if why or len(args) != 3 else args
        if not all(type(word) is str for word in words):
            raise DamagedEncoding(f"an exception is described by {shown(words)}, which are no texts")
        found = RemoteException(*words)
    elif not (isinstance(kind, type) and issubclass(kind, BaseException)):
        raise DamagedEncoding(f"{shown(kind)} is no class of exceptions")
    elif not all(_may_have(kind, key, attribute) for key, attribute in attributes.items()):
        raise DamagedEncoding(f"the attributes of an exception are {shown(list(attributes))}")
    else:
        try:
            found = rebuilt(kind, args, attributes)
        except Exception as broken:  # a class with a constructor of its own in C, or slots
            why = f"it cannot be rebuilt: {type(broken).__name__}"
            found = RemoteException(kind.__qualname__, short, why)
    if told:
        found.__cause__ = RemoteTraceback(told)
    return found


def _may_have(kind: type[BaseException], name: Any, value: Any) -> bool:
    """Whether this is an attribute that an exception of this class may bring along: a text names it,
    and it hides no method of the class. Notes are a list of texts, as Python wants them."""
    if name == "__notes__":
        return type(value) is list and all(type(note) is str for note in value)
    return type(name) is str and not callable(getattr(kind, name, None))


def rebuilt(kind: type[BaseException], args: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    """An exception with this type, these args and attributes; no constructor in Python is called."""
    if isinstance(kind.__init__, _SLOT) and isinstance(kind.__new__, _SLOT):
        error = kind(*args)
    else:
        native: Any = kind
        while native.__module__ != "builtins":
            native = native.__base__  # whose memory it has: of several parents that need not be the first
        error = native.__new__(kind, *args)
        native.__init__(error, *args)
    error.__dict__.update(attributes)
    return error


writes(BaseException, write, below=True)
READERS[kinds.EXCEPTION] = read
