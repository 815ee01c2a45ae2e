"""What scripts import of torch's elastic besides the launcher: events, numbers, timers, samplers, ports."""

from __future__ import annotations

import importlib
import json
import logging
import multiprocessing
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from minitorch_dist.distributed.elastic import timer
from minitorch_dist.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from minitorch_dist.distributed.elastic.timer.local_timer import MultiprocessingRequestQueue
from minitorch_dist.distributed.elastic.utils.distributed import get_free_port

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def both(name: str) -> list[Any]:
    return [
        importlib.import_module(f"{lib}.distributed.elastic.{name}")
        for lib in ("torch", "minitorch_dist")
    ]


def told(events: Any) -> list[Any]:
    """What is recorded, and read again."""
    lines: list[str] = []

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    handlers = getattr(events, "destinations", None)
    if handlers is None:
        handlers = importlib.import_module(
            "torch.distributed.elastic.events.handlers"
        )._log_handlers
    handlers["here"] = Listening()
    try:
        one = events.Event(
            "epoch", events.EventSource.WORKER, 5, {"number": 3, "loss": 0.5, "none": None}
        )
        events.record(one, "here")
        events.record(one)
    finally:
        del handlers["here"]
    again = events.Event.deserialize(lines[0])
    met = events.RdzvEvent("a", "job", "joined", "host", 3, events.NodeState.RUNNING, rank=1)
    events.record_rdzv_event(met)
    with pytest.raises(KeyError):
        events.get_logging_handler("nowhere")
    return [
        [json.loads(line) for line in lines], again == one, again.source is events.EventSource.WORKER,
        json.loads(str(met)), events.RdzvEvent.deserialize(str(met)) == met,
    ]  # fmt: skip


def test_events() -> None:
    theirs, ours = map(told, both("events"))
    assert ours == theirs


def measured(metrics: Any) -> list[Any]:
    found: list[Any] = []

    class Kept(metrics.MetricHandler):  # type: ignore[misc, name-defined]
        def emit(self, metric_data: Any) -> None:
            ms = metric_data.name.endswith("ms")
            found.append(
                (metric_data.group_name, metric_data.name, None if ms else metric_data.value)
            )

    class Loader:
        @metrics.prof
        def load(self) -> int:
            return 3

    @metrics.prof(group="other")
    def fail() -> None:
        raise ZeroDivisionError

    before = metrics.getStream("torchelastic").handler
    try:
        metrics.configure(Kept())
        metrics.configure(Kept(), "mine")
        metrics.put_metric("a", 1)
        metrics.put_metric("b", 2, "mine")
        metrics.put_metric("c", 3, "yours")
        found.append(Loader().load())
        with pytest.raises(ZeroDivisionError):
            fail()
        metrics.initialize_metrics(metrics.MetricsConfig())
    finally:
        metrics.configure(before)
    return found


def test_metrics() -> None:
    theirs, ours = map(measured, both("metrics"))
    assert [str(one).replace("test_elastic.measured", "") for one in ours] == [
        str(one) for one in theirs
    ]


def test_small_things() -> None:
    for utils in both("utils"):
        assert utils.macros.substitute(["--n=${local_rank}", 3, "$x"], "7") == ["--n=7", 3, "$x"]
        with pytest.raises(ValueError, match="Environment variable NOBODY expected, but not set"):
            utils.get_env_variable_or_raise("NOBODY")
        assert utils.get_env_variable_or_raise("PATH") == os.environ["PATH"]
        with utils.get_socket_with_port() as found:
            assert found.getsockname()[1] > 0
    port = get_free_port()
    with socket.create_server(("localhost", port)):
        pass
    for module in both("utils.logging"):
        assert module.get_logger().name == __name__
        assert module.get_log_level() == "WARNING"


def test_epochs_in_a_row() -> None:
    for data in both("utils.data"):

        def epoch(number: int) -> Iterator[int]:
            return iter([10 * number, 10 * number + 1] if number != 1 else [])

        assert list(data.CyclingIterator(3, epoch)) == [0, 1, 20, 21]
        assert list(data.CyclingIterator(3, epoch, start_epoch=2)) == [20, 21]


@pytest.mark.parametrize(
    ("length", "start", "ranks"), [(10, 0, 3), (10, 4, 3), (7, 6, 2), (5, 1, 5)]
)
def test_what_is_left_of_an_epoch(length: int, start: int, ranks: int) -> None:
    lengths = []
    for data in both("utils.data"):
        parts = [
            data.ElasticDistributedSampler(range(length), ranks, r, start) for r in range(ranks)
        ]
        rows = []
        for part in parts:
            part.set_epoch(3)
            rows.append(list(part))
        assert {n for row in rows for n in row} == set(range(start, length))
        lengths.append([(len(part), len(row)) for part, row in zip(parts, rows, strict=True)])
        with pytest.raises(ValueError, match="should be less than dataset size"):
            data.ElasticDistributedSampler(range(length), ranks, 0, length)
    assert lengths[0] == lengths[1]


# ------------------------------------------------------------------------------------------- timers


def test_a_watchman_knows_who_is_late() -> None:
    with pytest.raises(RuntimeError, match="configure timer client"), timer.expires(after=1):
        pass
    for module in both("timer"):
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        server = module.LocalTimerServer(queue, max_interval=1)
        ask = module.TimerRequest
        server.register_timers(
            [ask(1, "a", 5.0), ask(1, "b", 9.0), ask(2, "a", 6.0), ask(3, "a", 1.0)]
        )
        server.register_timers([ask(3, "a", -1)])
        late_ones = {
            w: [t.scope_id for t in ts] for w, ts in server.get_expired_timers(6.0).items()
        }
        assert late_ones == {1: ["a"], 2: ["a"]}
        server.clear_timers({1})
        assert list(server.get_expired_timers(100.0)) == [2]
        assert server._reap_worker(2**22 + 1), "who is gone is not to be ended again"
        queue.close()
        queue.join_thread()


def test_words_come_in_order_and_not_for_ever() -> None:
    queue = multiprocessing.get_context("spawn").Queue()
    words = MultiprocessingRequestQueue(queue)
    assert words.get(3, 0.0) == []
    client = timer.LocalTimerClient(queue)
    client.acquire("a", 5.0)
    client.release("a")
    found: list[Any] = []
    while len(found) < 2:
        found += words.get(1, 1.0)
    assert [(one.scope_id, one.expiration_time) for one in found] == [("a", 5.0), ("a", -1)]
    queue.close()
    queue.join_thread()


def test_where_output_goes_under_torchs_name() -> None:
    specs = DefaultLogsSpecs("logs", redirects=Std.OUT, tee={0: Std.ERR}, local_ranks_filter=[0, 2])
    assert (specs.log_dir, specs.redirects, specs.tee) == ("logs", Std.OUT, {0: Std.ERR})
    assert specs.local_ranks == {0, 2}
    assert DefaultLogsSpecs().local_ranks is None
