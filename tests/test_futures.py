"""Futures between threads, and what they show of themselves."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from minitorch_dist.futures import Future, collect_all, wait_all


def run(function: Any) -> threading.Thread:
    thread = threading.Thread(target=function)
    thread.start()
    return thread


def test_waiting_threads_are_woken() -> None:
    future: Future[int] = Future()
    got: list[int] = []
    threads = [run(lambda: got.append(future.wait())) for _ in range(5)]
    future.set_result(3)
    for thread in threads:
        thread.join()
    assert got == [3] * 5


def test_many_threads_complete_what_is_collected() -> None:
    futures: list[Future[int]] = [Future() for _ in range(50)]
    together = collect_all(futures)
    threads = [run(lambda f=f, i=i: f.set_result(i)) for i, f in enumerate(futures)]
    assert wait_all(futures) == list(range(50))
    assert together.wait() == futures
    for thread in threads:
        thread.join()


def test_only_one_of_many_completes_it() -> None:
    future: Future[int] = Future()
    refused: list[Exception] = []

    def attempt(value: int) -> None:
        try:
            future.set_result(value)
        except RuntimeError as error:
            refused.append(error)

    threads = [run(lambda i=i: attempt(i)) for i in range(8)]
    for thread in threads:
        thread.join()
    assert len(refused) == 7 and future.wait() in range(8)


def test_an_exception_in_a_callback_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    future: Future[int] = Future()
    log: list[int] = []
    future.add_done_callback(lambda f: 1 // 0 and None)
    future.add_done_callback(lambda f: log.append(f.value()))
    with caplog.at_level(logging.ERROR):
        future.set_result(3)
    assert log == [3]
    assert "ZeroDivisionError" in caplog.text


def test_raising_twice_does_not_lengthen_the_traceback() -> None:
    future: Future[int] = Future()
    future.set_exception(ValueError("bad"))
    lengths = []
    for _ in range(3):
        with pytest.raises(ValueError) as caught:
            future.wait()
        lengths.append(len(caught.traceback))
    assert lengths == [lengths[0]] * 3


def test_it_shows_its_state() -> None:
    future: Future[int] = Future()
    assert repr(future) == "<Future pending>"
    following = future.then(lambda f: 1 / 0)
    future.set_result(3)
    assert repr(future) == "<Future result 3>"
    assert repr(following) == "<Future with ZeroDivisionError('division by zero')>"


def test_the_condition_of_a_clock_is_used_throughout() -> None:
    made: list[threading.Condition] = []

    def condition() -> threading.Condition:
        made.append(threading.Condition())
        return made[-1]

    future: Future[int] = Future(condition=condition)
    following = future.then(lambda f: f.value() + 1)
    together = collect_all([future, following])
    future.set_result(1)
    assert [f.wait() for f in together.wait()] == [1, 2]
    assert len(made) == 3


def test_a_callback_must_be_callable() -> None:
    with pytest.raises(TypeError, match="callable"):
        Future().add_done_callback(3)  # type: ignore[arg-type]
