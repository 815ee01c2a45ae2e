"""Virtual time by itself: who runs when, what instants come, and what a deadlock says."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import pytest
from hypothesis import given, strategies as st

from transports.clock import PICO
from transports.errors import Deadlock, DistError
from transports.simulation import each_rank
from transports.stores.store import HashStore
from transports.virtual import clock
from transports.virtual.clock import VirtualClock
from transports.virtual.sim_thread import Stopped

MS = PICO // 1000
YEAR = 365 * 24 * 3600.0


@pytest.fixture(autouse=True, params=["threads", "greenlet"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """All of this holds whatever simulated threads are made of."""
    if request.param == "greenlet":
        pytest.importorskip("greenlet")
    monkeypatch.setattr(clock, "ENGINE", request.param)
    return str(request.param)


def simulate(*programs: Callable[[VirtualClock], object], **how: object) -> VirtualClock:
    """Run one rank for each program."""
    clock = VirtualClock(**how)  # type: ignore[arg-type]
    each_rank(clock, len(programs), lambda rank: programs[rank](clock))
    return clock


def test_sleeping_takes_no_time() -> None:
    seen = []

    def sleeper(clock: VirtualClock, seconds: float) -> None:
        clock.sleep(seconds)
        seen.append(clock.now())

    clock = simulate(partial(sleeper, seconds=YEAR), partial(sleeper, seconds=0.001))
    assert seen == [MS, int(YEAR) * PICO] and clock.now() == int(YEAR) * PICO


def test_one_runs_at_a_time_and_first_come_is_first_served() -> None:
    seen = []

    def program(clock: VirtualClock, name: str) -> None:
        for turn in range(3):
            seen.append(f"{name}{turn}")
            clock.sleep(1)

    simulate(*(partial(program, name=name) for name in "abc"))
    assert " ".join(seen) == "a0 b0 c0 a1 b1 c1 a2 b2 c2"


def test_a_seed_shuffles_who_wakes_first_and_repeats_itself() -> None:
    def order(seed: int | None) -> list[int]:
        seen: list[int] = []

        def program(clock: VirtualClock, rank: int) -> None:
            for _ in range(4):
                clock.sleep(1)
                seen.append(rank)

        simulate(*(partial(program, rank=rank) for rank in range(6)), seed=seed)
        return seen

    orders = {seed: order(seed) for seed in (None, 0, 1, 2)}
    assert all(order(seed) == orders[seed] for seed in orders)
    assert len({tuple(seen) for seen in orders.values()}) == 4
    assert all(sorted(seen[at : at + 6]) == list(range(6)) for seen in orders.values() for at in (0, 18))


def test_conditions_are_those_of_threading() -> None:
    """A bounded buffer between two producers and two consumers."""
    items: list[int] = []
    got: list[int] = []
    clock = VirtualClock()
    changed = clock.condition("room or items")

    def produce(start: int) -> None:
        for item in range(start, start + 20):
            with changed:
                while len(items) == 3:
                    changed.wait()
                items.append(item)
                changed.notify_all()
            clock.sleep(0.01 * (item % 3))

    def consume() -> None:
        for _ in range(20):
            with changed:
                while not items:
                    changed.wait()
                with changed:  # again, by the same thread
                    got.append(items.pop(0))
                changed.notify_all()

    each_rank(clock, 4, lambda rank: produce(100 * rank) if rank < 2 else consume())
    assert sorted(got) == [*range(20), *range(100, 120)]


def test_who_sleeps_inside_a_condition_keeps_the_others_out() -> None:
    clock = VirtualClock()
    changed, seen = clock.condition(), []

    def program(rank: int) -> None:
        with changed:
            seen.append((rank, clock.now() // PICO))
            clock.sleep(1)
            seen.append((rank, clock.now() // PICO))

    each_rank(clock, 3, program)
    assert seen == [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3)]


@pytest.mark.parametrize("entries", [1, 3])
@pytest.mark.parametrize("timeout", [None, 1.0])
def test_who_is_stopped_in_a_wait_while_another_is_inside_leaves_quietly(
    entries: int, timeout: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = []
    monkeypatch.setattr(threading, "excepthook", lambda args: failed.append(args.exc_value))

    def program(clock: VirtualClock) -> None:
        changed = clock.condition()

        def wait() -> None:
            with ExitStack() as inside:
                for _ in range(entries):
                    inside.enter_context(changed)
                changed.wait(timeout)

        def stay() -> None:
            clock.sleep(0.5)
            with changed:
                clock.sleep(10)

        clock.start(wait, "waiter")
        clock.start(stay, "holder")
        clock.sleep(2)

    simulate(program)
    assert failed == []


def test_who_was_to_enter_and_is_broken_off_lets_the_next_one_in() -> None:
    seen = []

    def program(clock: VirtualClock) -> None:
        changed = clock.condition()

        def enter(name: str) -> None:
            try:
                with changed:
                    seen.append(name)
            except KeyboardInterrupt:
                seen.append(f"{name} was broken off")

        with changed:
            threads = [clock.start(partial(enter, name), name) for name in "abc"]
            clock.sleep(1)
        clock._fail(threads[0], KeyboardInterrupt())
        for each in threads:
            each.join()

    simulate(program)
    assert seen == ["a was broken off", "b", "c"]


@given(st.lists(st.floats(0, 1e4, allow_subnormal=False), min_size=1, max_size=8))
def test_timeouts_fire_at_their_instant(seconds: list[float]) -> None:
    late = []

    def program(clock: VirtualClock, timeout: float) -> None:
        changed = clock.condition()
        deadline = clock.deadline(timeout)
        with changed:
            while not deadline.is_over():
                assert not changed.wait(deadline.left())
        late.append(clock.now() - round(timeout * PICO))

    simulate(*(partial(program, timeout=timeout) for timeout in seconds))
    # seconds become whole picoseconds; a float holds those exactly up to 9007 s
    assert all(0 <= error <= 1 for error in late) or max(seconds) > 9007
    assert len(late) == len(seconds)


def test_a_wait_that_ends_early_leaves_no_timer_behind() -> None:
    clock = VirtualClock()
    changed = clock.condition()

    def program(rank: int) -> None:
        for turn in range(100):
            with changed:
                if rank == turn % 2:
                    changed.wait(1000)
                else:
                    changed.notify()
            clock.sleep(1)

    each_rank(clock, 2, program)
    assert clock.now() < 300 * PICO and clock._event_queue.is_idle()


def test_threads_started_inside_belong_to_the_rank(engine: str) -> None:
    clock, seen = VirtualClock(), []

    def work(name: str, seconds: float) -> None:
        clock.sleep(seconds)
        seen.append((name, clock.now() // PICO, threading.current_thread().name))

    def program(rank: int) -> str:
        workers = [clock.start(partial(work, f"{rank}{n}", n), f"worker {n}") for n in (2, 1)]
        assert workers[0].is_alive()
        workers[0].join(0.5)
        assert clock.now() == PICO // 2 and workers[0].is_alive()
        for worker in workers:
            worker.join()
        assert not workers[0].is_alive()
        return threading.current_thread().name

    names = each_rank(clock, 2, program)[0]
    assert [s[:2] for s in seen] == [("01", 1), ("11", 1), ("02", 2), ("12", 2)]
    if engine == "threads":
        assert names == ["rank 0", "rank 1"] and seen[0][2] == "worker 1"


def test_helpers_end_with_their_rank() -> None:
    clock, ends = VirtualClock(), []

    def heartbeat() -> None:
        try:
            while True:
                clock.sleep(1)
        except Stopped:
            ends.append(clock.now() // PICO)
            raise

    def program(rank: int) -> None:
        clock.start(heartbeat, "heartbeat")
        clock.start(heartbeat, "never begins") if rank == 2 else None
        clock.sleep(2.5 * rank)

    each_rank(clock, 3, program)
    assert ends == [0, 2, 5, 5]


def test_an_error_in_one_rank_leaves_nobody_hanging() -> None:
    def fail(clock: VirtualClock) -> None:
        clock.sleep(1)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken") as caught:
        simulate(fail, lambda clock: clock.condition("x"), lambda clock: clock.sleep(7))
    assert caught.value.__notes__ == ["raised by rank 0 of 3 in a simulation"]


def stand(clock: VirtualClock, words: str = "", timeout: float | None = None) -> None:
    changed = clock.condition(words)
    with changed:
        changed.wait(timeout)


def test_a_deadlock_is_told_at_once_and_in_words() -> None:
    def finish(clock: VirtualClock) -> None:
        clock.sleep(0.001204)

    errors = []

    def collect(clock: VirtualClock) -> None:
        try:
            stand(clock, "the moon")
        except Deadlock as error:
            errors.append(error)
            raise

    with pytest.raises(Deadlock) as caught:
        simulate(collect, finish, partial(stand, words="godot"), stand, partial(stand))
    assert str(caught.value).splitlines() == [
        "deadlock at 1.204 ms: ranks 0, 2-4 of 5 wait, and nothing is under way that could wake them",
        f"  rank 0 waits for the moon, at test_virtual_clock.py:{line(stand, 3)}",
        "  rank 1 is finished, since 1.204 ms",
        f"  rank 2 waits for godot, at test_virtual_clock.py:{line(stand, 3)}",
        f"  rank 3 waits for a notification of another thread, at test_virtual_clock.py:{line(stand, 3)}",
        f"  rank 4 waits for a notification of another thread, at test_virtual_clock.py:{line(stand, 3)}",
        "Nobody sends or sets what they wait for: compare what each rank waits for with what the others do",
    ]
    assert errors == [caught.value]


def line(function: Callable[..., object], offset: int) -> int:
    return function.__code__.co_firstlineno + offset


def test_timeouts_come_before_a_deadlock_unless_they_are_endless() -> None:
    simulate(partial(stand, timeout=1800), partial(stand, timeout=3600))
    with pytest.raises(Deadlock, match="deadlock at 5 s"):
        simulate(partial(stand, timeout=5), partial(stand, timeout=1800), partial(stand, timeout=60), endless=60)


def test_who_catches_a_deadlock_may_go_on() -> None:
    clock = VirtualClock()
    changed = clock.condition()

    def program(rank: int) -> str:
        with changed:
            try:
                changed.wait()
            except Deadlock:
                changed.notify_all()
                return "told"
        return "woken"

    assert each_rank(clock, 3, program)[0] == ["told"] * 3

    def stubborn(rank: int) -> None:
        while True:
            try:
                with changed:
                    changed.wait()
            except Deadlock:
                pass

    each_rank(clock, 2, stubborn)  # it is stopped in the end


def test_looking_again_and_again_is_a_way_of_waiting() -> None:
    clock, seen = VirtualClock(), []

    def program(rank: int) -> None:
        if rank == 0:
            clock.sleep(3)
            seen.append("slept")
        deadline = clock.deadline(2)
        while not (seen or deadline.is_over()):
            clock.sleep(0)
        while not seen:
            clock.poll()
        assert clock.now() == 3 * PICO

    each_rank(clock, 3, program)
    with pytest.raises(Deadlock, match=r"rank 0 waits for something for which it polls, at test_virtual"):
        simulate(lambda clock: [clock.poll() for _ in range(10_000)])


def test_only_timeouts_for_ever_is_a_deadlock_too() -> None:
    def heartbeat(clock: VirtualClock) -> None:
        changed = clock.condition("a change")
        with changed:
            while True:
                changed.wait(0.25)

    with pytest.raises(Deadlock, match="rank 0 waits for a change"):
        simulate(heartbeat)


def test_a_limit_ends_what_never_ends() -> None:
    def sleep_on(clock: VirtualClock) -> None:
        while True:
            clock.sleep(1)

    with pytest.raises(DistError, match="beyond its limit, 100 s"):
        simulate(sleep_on, sleep_on, limit=100)


def test_strangers_are_refused() -> None:
    clock, errors = VirtualClock(), []

    def stranger() -> None:
        try:
            clock.sleep(1)
        except RuntimeError as error:
            errors.append(str(error))

    def program(rank: int) -> None:
        thread = threading.Thread(target=stranger, name="stranger")
        thread.start()
        thread.join()

    stranger()
    each_rank(clock, 1, program)
    assert "the thread 'MainThread' has no place" in errors[0]
    assert "the thread 'stranger' has no place in this simulation" in errors[1]


def test_stores_wait_in_virtual_time() -> None:
    clock = VirtualClock()
    store = HashStore(clock)

    def program(rank: int) -> object:
        if rank == 0:
            clock.sleep(1000)
            store.set("key", "value")
            return None
        if rank == 1:
            return store.get("key")
        try:
            store.wait(["key", "other"], 1200.5)
        except Exception as error:
            return type(error).__name__, clock.now() / PICO
        return None

    store.set_timeout(2000)
    assert each_rank(clock, 3, program)[0] == [None, b"value", ("StoreTimeout", 1200.5)]


def interrupt_main() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_an_interrupt_stops_every_strand() -> None:
    def sleep_on(clock: VirtualClock, interrupts: bool = False) -> None:
        while True:
            clock.sleep(1)
            if clock.now() == 5 * PICO and interrupts:
                interrupt_main()

    with pytest.raises(KeyboardInterrupt):
        simulate(sleep_on, partial(sleep_on, interrupts=True), sleep_on)


def test_a_second_interrupt_stops_even_who_never_waits() -> None:
    def busy(clock: VirtualClock) -> None:
        interrupt_main()
        while not clock._is_interrupted:
            pass
        interrupt_main()
        while True:
            pass

    with pytest.raises(KeyboardInterrupt):
        simulate(busy, stand)


def test_the_system_has_no_more_threads(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    if engine == "greenlet":
        pytest.skip("greenlets need one thread only")
    start, room = threading.Thread.start, [3]

    def limited(thread: threading.Thread) -> None:
        if room[0] == 0:
            raise RuntimeError("can't start new thread")
        room[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    for _ in range(2):  # with some, and with none at all
        with pytest.raises(RuntimeError, match=r"no thread for 'rank .'.* Simulate fewer ranks"):
            simulate(*[stand] * 5)


def test_a_thousand_ranks() -> None:
    clock = simulate(*([lambda clock: [clock.sleep(1) for _ in range(5)]] * 1000))
    assert clock.now() == 5 * PICO


def test_greenlets_do_not_stand_on_each_others_stacks() -> None:
    """However many begin one after the other, each has the whole depth of recursion."""

    def deep(left: int) -> int:
        return left and deep(left - 1)

    clock = VirtualClock()

    def program(rank: int) -> None:
        clock.sleep(1)
        deep(500)
        clock.start(lambda: deep(500) and None, "helper").join()

    each_rank(clock, 100, program)


def test_what_settles_an_instant_comes_after_all_that_happens_in_it() -> None:
    clock, seen = VirtualClock(), []

    def program(rank: int) -> None:
        for turn in range(2):
            if rank == 1:
                clock.settle(lambda turn=turn: seen.append(f"settled {turn}"))
            clock.at(clock.now(), lambda turn=turn: seen.append(f"event {rank}{turn}"))
            seen.append(f"{rank}{turn}")
            clock.sleep(1)

    each_rank(clock, 3, program)
    assert seen[:4] == ["00", "10", "20", "settled 0"] and seen[7] == "01"


def test_there_are_two_engines() -> None:
    assert VirtualClock().engine == clock.ENGINE
    with pytest.raises(ValueError, match="'threads' or 'greenlet', not 'fibers'"):
        VirtualClock(engine="fibers")


def test_an_interrupt_while_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between starting the first thread and waiting for the end, nothing may be torn apart."""
    begin, times = threading.Thread.start, []

    def start(thread: threading.Thread) -> None:
        begin(thread)
        if not times:
            times.append(1)
            interrupt_main()

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt):
        simulate(*[stand] * 3)
    assert times and signal.getsignal(signal.SIGINT) is signal.default_int_handler
