"""Lines 5 to 7 of the contract, as programs: how ranks leave, die, and are attacked."""

from __future__ import annotations

from collections.abc import Callable

from transports.conformance.bench import RankCheck, pattern
from transports.conformance.lines import drain
from transports.contract import Transport
from transports.errors import PeerLost, TransportClosed


def farewell(desk: RankCheck) -> None:
    """Line 5: close delivers what was sent; then `lost`, exactly once; then send says PeerLost."""
    if desk.rank == 0:
        for peer in desk.peers():
            for turn in range(20):
                desk.transport.send(peer, b"%d" % turn, pattern(turn, 100_000 * (turn % 5)))
        desk.beside(desk.transport.close, "close")
        desk.meet("end")
        return
    desk.until(lambda: 0 in desk.tray.lost_ranks, lambda: "rank 0 had closed, but lost(0) had not come")
    got = desk.tray.messages.get(0, [])
    desk.demand(len(got) == 20, f"rank 0 sent 20 messages before close, and {len(got)} came")
    for turn, (_, data) in enumerate(got):
        desk.demand(data == pattern(turn, 100_000 * (turn % 5)), "close delivered other bytes")
    drain(desk)
    _demand_kind(desk, 0, ("closed", "left"), "closed its transport, and did not die")
    _demand_gone(desk, 0)


def close_twice(desk: RankCheck) -> None:
    """Line 5: closing twice is fine; afterwards the other calls say TransportClosed."""
    desk.meet("connected")
    desk.beside(desk.transport.close, "close")
    desk.beside(desk.transport.close, "the second close")
    end, what = desk.transport, "after close did not raise TransportClosed"
    desk.demand_error(TransportClosed, lambda: end.send(desk.rank, b"", b""), f"send {what}")
    desk.demand_error(TransportClosed, lambda: end.progress(0), f"progress {what}")


def close_wakes(desk: RankCheck) -> None:
    """Line 5: a thread that waits in progress while another one closes gets TransportClosed."""
    desk.meet("connected")
    ends: list[str] = []

    def wait() -> None:
        try:
            while True:
                desk.transport.progress(None, lambda: False)
        except TransportClosed:
            ends.append("TransportClosed")
        except Exception as error:
            ends.append(f"{type(error).__name__}: {error}")

    threads = [desk.clock.start(wait, f"waiter {n}") for n in range(2)]
    desk.clock.sleep(0.01)
    desk.transport.close()
    for thread in threads:
        thread.join(desk.patience)
    desk.demand(
        ends == ["TransportClosed"] * 2,
        f"two threads waited in progress while the transport was closed, and ended with {ends}",
    )


def death(desk: RankCheck) -> None:
    """Line 6: a peer that dies is lost within seconds, for everybody, once."""
    victim = desk.world_size - 1
    desk.meet("connected")
    if desk.rank == victim:
        desk.die()
    lost, late = desk.tray.lost_ranks, f"rank {victim} had died, but lost({victim}) had not come"
    desk.until(lambda: victim in lost, lambda: late)
    _demand_kind(desk, victim, ("lost",), "died, and did not close its transport")
    _demand_gone(desk, victim)
    for peer in range(desk.world_size - 1):  # and the living go on
        desk.send(peer, 0, b"still here")
        desk.receive(peer, 1)


def death_in_send(desk: RankCheck) -> None:
    """Line 6: a send to one that dies ends with PeerLost; it does not wait for ever."""
    victim = desk.world_size - 1
    if desk.rank == victim:
        desk.receive(0, 1)
        desk.die()

    def send_on() -> None:
        for turn in range(40):
            desk.send(victim, turn, bytes(5_000_000))
            desk.transport.progress(0.05, lambda: False)

    if desk.rank == 0:
        lost = _demand_lost(desk, victim, send_on, f"40 messages were sent to rank {victim}, which had died")
        said = f"PeerLost says that it is {lost.kind}: {lost.reason}"
        desk.demand(lost.kind == "lost", f"rank {victim} died, and {said}")


def stranger(desk: RankCheck, attack: Callable[[Transport], None]) -> None:
    """Line 7: somebody without the key changes nothing, holds up nobody, and is not heard."""
    desk.meet("connected")
    if desk.rank == 0:
        attack(desk.transport)
    drain(desk)
    desk.demand(not desk.tray.begun, "a stranger's message was delivered")
    desk.demand(not desk.tray.lost_ranks, "a stranger made the ranks lose each other")
    desk.meet("attacked")
    for peer in range(desk.world_size):
        desk.send(peer, 0, pattern(peer, 100_000))
    for peer in range(desk.world_size):
        desk.receive(peer, 1)
    desk.demand(desk.tray.begun == desk.world_size, "more messages came than the ranks sent each other")


def _demand_kind(desk: RankCheck, peer: int, kinds: tuple[str, ...], what: str) -> None:
    """Programs ask for the kind of a loss: a rank that has closed had come to its end, one that died had not."""
    why = desk.tray.reasons[peer]
    desk.demand(
        why.kind in kinds,
        f"rank {peer} {what}; but lost({peer}) says that it is {why.kind!r} ({why}), not {kinds[0]!r}",
    )


def _demand_gone(desk: RankCheck, peer: int) -> None:
    text = f"send to rank {peer}, which is lost, did not raise PeerLost"
    _demand_lost(desk, peer, lambda: desk.send(peer, 0, b"x", b""), text)


def _demand_lost(desk: RankCheck, peer: int, act: Callable[[], None], text: str) -> PeerLost:
    lost = desk.demand_error(PeerLost, act, text)
    desk.demand(lost.rank == peer, f"PeerLost names rank {lost.rank}, not {peer}")
    return lost
