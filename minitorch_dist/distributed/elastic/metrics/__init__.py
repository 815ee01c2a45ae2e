"""Numbers about a job, by name, for the handlers that were configured.

configure(ConsoleMetricHandler())
put_metric("examples", 320, "my_training")

@prof
def load(): ...                     load.success or load.failure, and load.duration.ms
"""

from __future__ import annotations

import functools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")


class MetricData(NamedTuple):
    timestamp: float
    group_name: str
    name: str
    value: int


class MetricsConfig:
    """The settings of a handler."""

    __slots__ = ("params",)

    def __init__(self, params: dict[str, str] | None = None) -> None:
        self.params = params or {}


class MetricHandler(ABC):
    """Takes the numbers."""

    @abstractmethod
    def emit(self, metric_data: MetricData) -> None: ...


class ConsoleMetricHandler(MetricHandler):
    def emit(self, metric_data: MetricData) -> None:
        when, group, name, value = metric_data
        print(f"[{when}][{group}]: {name}={value}")


class NullMetricHandler(MetricHandler):
    def emit(self, metric_data: MetricData) -> None:
        pass


class MetricStream:
    """The numbers of one group."""

    def __init__(self, group_name: str, handler: MetricHandler) -> None:
        self.group_name, self.handler = group_name, handler

    def add_value(self, metric_name: str, metric_value: int) -> None:
        self.handler.emit(MetricData(_now(), self.group_name, metric_name, metric_value))


_handlers: dict[str | None, MetricHandler] = {None: NullMetricHandler()}


def configure(handler: MetricHandler, group: str | None = None) -> None:
    """Set the handler of this group; without a group, the handler of all groups that have none."""
    _handlers[group] = handler


def initialize_metrics(cfg: MetricsConfig | None = None) -> None:
    """Called by an agent at its start; there is nothing to do here."""


def getStream(group: str) -> MetricStream:
    return MetricStream(group, _handlers.get(group, _handlers[None]))


def put_metric(metric_name: str, metric_value: int, metric_group: str = "torchelastic") -> None:
    """Give a number to the handler of this group."""
    getStream(metric_group).add_value(metric_name, metric_value)


@overload
def prof(fn: Callable[P, R], group: str = ...) -> Callable[P, R]: ...
@overload
def prof(fn: None = ..., group: str = ...) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def prof(fn: Any = None, group: str = "torchelastic") -> Any:
    """Decorate a function: how long each call took, in ms, and whether it succeeded."""
    if fn is None:
        return functools.partial(prof, group=group)
    inside = "." in fn.__qualname__ or not fn.__module__
    name = fn.__qualname__ if inside else f"{fn.__module__.rpartition('.')[2]}.{fn.__qualname__}"

    @functools.wraps(fn)
    def measured(*args: Any, **kwargs: Any) -> Any:
        start = _now()
        try:
            result = fn(*args, **kwargs)
            put_metric(f"{name}.success", 1, group)
            return result
        except Exception:
            put_metric(f"{name}.failure", 1, group)
            raise
        finally:
            put_metric(f"{name}.duration.ms", get_elapsed_time_ms(start), group)

    return measured


def get_elapsed_time_ms(start_time_in_seconds: float) -> int:
    """Milliseconds since then."""
    return int((_now() - start_time_in_seconds) * 1000)


def _now() -> float:
    return time.time()  # noqa: TID251 - a date
