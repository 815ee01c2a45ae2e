"""`mtd game`: be the network, or be a rank."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from rich.text import Text

from minitorch_dist.pictures import spacetime
from minitorch_dist.pictures.scene import Arrow, Scene
from mtd.cli import player
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.course import achievements, levels, network_game, rank_game
from mtd.course.network_game import GameState, Impossible, Level

STARS = 3
NETWORK_KEYS = "1-9 deliver   x1 lose   d1 double   t let time pass   p it cannot be broken\nu undo   r again   s source   ? these words   q leave"
RANK_KEYS = "0-3 send that chunk   n nothing   r again   ? these words   q leave"


def configure(parser: Parser) -> None:
    games = parser.add_subparsers(dest="game", metavar="GAME", required=True)
    network = games.add_parser(
        "network",
        help="hold every message in flight, and break the algorithm",
        description="Hold every message in flight; deliver, lose, double, until the algorithm breaks.",
    )
    network.takes("""
        level?  number, name, or a file of your own; else all are listed
        --par   the fewest moves, searched for now
    """)
    games.add_parser(
        "rank",
        help="be rank 2 of 4, and race the ring",
        description="You are rank 2 of 4 with a hand of chunks; each round choose what to send.",
    )
    parser.set_defaults(run=run, epilog="mtd game network 1")


def run(options: argparse.Namespace) -> int:
    page = Page()
    if options.game == "rank":
        return be_the_rank(page)
    if options.level is None:
        return listing(page, options.par)
    level = network_game.load(options.level)
    if options.par:
        page.say(in_words(network_game.search(level)))
        return 0
    return be_the_network(page, level)


def listing(page: Page, with_par: bool) -> int:
    for number, each in enumerate(levels.NAMES, 1):
        level = network_game.load(each)
        found = f"  {in_words(network_game.search(level))}" if with_par else ""
        page.tell((f"{number}  ", "bold"), f"{each:<14} {level.title}{found}")
    page.say()
    own = ("mtd game network mine.py", "bold")
    page.tell("Play one: ", ("mtd game network 1", "bold"), "   Or your own: ", own)
    return 0


def in_words(found: network_game.Search) -> str:
    if not found.is_complete:
        return f"not broken in {found.states} states, and there are more"
    if found.moves is None:
        return f"cannot be broken: {found.states} states, all there are"
    return f"par {found.par}"


def pressed(page: Page) -> Iterator[str]:
    """One message after the other, from keys or from lines. First "" when the terminal is ready."""
    for key in player.read_keys():
        if key is None or key.startswith("\x1b"):
            yield ""
            continue
        yield from key.strip() or ("\n" if key else "")


# ------------------------------------------------------------------------------- the network


def be_the_network(page: Page, level: Level) -> int:
    """0 if the level is solved."""
    moves: list[str] = []
    state = network_game.play(level, moves)
    said, verb = f"{level.story}\n\n{NETWORK_KEYS}", ""
    for key in pressed(page):
        if key == "q":
            return 1
        if key in ("x", "d"):
            verb = {"x": "drop", "d": "duplicate"}[key]
            said = f"which message to {verb}? its number"
        elif key == "p":
            return claimed(page, level)
        elif key == "s":
            said = level.source
        elif key == "?":
            said = f"{level.story}\n\n{NETWORK_KEYS}"
        elif key in ("u", "r"):
            moves = moves[:-1] if key == "u" else []
            state, said, verb = network_game.play(level, moves), "", ""
        elif key == "t" or key.isdigit():
            move = chosen(key, verb, state)
            verb = ""
            try:
                if not move:
                    raise Impossible(f"there is no message {key}")
                state, said = network_game.play(level, [*moves, move]), ""
                moves.append(move)
            except Impossible as error:
                said = str(error)
        elif key.strip():
            said = NETWORK_KEYS
        frame(page, level, state, moves, said)
        if state.broken:
            return won(page, level, state, moves)
        if state.is_over:
            page.say("It has come to its end, and nothing is broken. u undo, r again, p it cannot be broken")
    return 1


def chosen(key: str, verb: str, state: GameState) -> str:
    if key == "t":
        return "wait"
    place = int(key) - 1
    if not 0 <= place < len(state.flight):
        return ""
    return f"{verb or 'deliver'} {state.flight[place].number}"


def frame(page: Page, level: Level, state: GameState, moves: list[str], said: str) -> None:
    page.anew()
    page.tell((level.title, "bold"), f"   {len(moves)} moves")
    page.say()
    picture = drawn(level, state, len(moves), page.width)
    if picture:
        page.as_it_is(picture)
        page.say()
    for fact in state.seen:
        page.say(f"seen: {fact}", indent=2)
    page.say("in flight:" if state.flight else "nothing is in flight")
    for place, message in enumerate(state.flight, 1):
        page.tell((f"{place}  ", "bold"), str(message), indent=2)
    left = [f"{kind} {count}×" for kind, count in sorted(state.left.items()) if count]
    if left:
        page.say(f"you may still: {', '.join(left)}")
    page.say()
    for line in said.split("\n") if said else ():
        page.as_it_is(line)
    if said:
        page.say()
    page.prompt("> ")


def drawn(level: Level, state: GameState, made: int, width: int) -> str:
    """Each message as an arrow from the move after which it was sent to the move in which it came."""
    if not state.came or level.ranks > 6:
        return ""
    arrows = []
    for number, move, is_delivered in state.came:
        src, dst, after = state.sent[number]
        arrows.append(Arrow(src, dst, 2 * after, 2 * move - 1, 1, "message", "", "", is_delivered))
    lanes = [f"rank {rank}" for rank in range(level.ranks)]
    picture = spacetime.draw(Scene("", lanes, arrows=arrows), min(width, 24 + 8 * made), gap=2)
    return "\n".join(line.rstrip() for line in picture.lines[2:-3]).rstrip()


def won(page: Page, level: Level, state: GameState, moves: list[str]) -> int:
    page.say(f"Broken: {state.broken}", "green")
    found, stars, said = network_game.search(level), STARS, f"in {len(moves)} moves"
    if found.moves is None:
        page.say(f"Solved {said}.")
    else:
        over = len(moves) - found.par
        stars = STARS if over <= 0 else 2 if over <= 2 else 1
        page.say(f"Solved {said}; par is {found.par}.  {starred(stars)}")
    solved(level, stars, said)
    return 0


def starred(stars: int) -> str:
    return "★" * stars + "☆" * (STARS - stars)


def solved(level: Level, stars: int, said: str) -> None:
    """Into the learner's progress; levels of one's own are not counted."""
    if level.name in levels.NAMES:
        achievements.enter("game", level.name, stars, f"{starred(stars)} {said}")


def claimed(page: Page, level: Level) -> int:
    """The player says that it cannot be broken; here is the proof, or not."""
    page.say("searching all that the network can do …")
    found = network_game.search(level)
    if found.moves is None and found.is_complete:
        said = f"Correct: {found.states} states, all there are, and it holds in each.  ★★★"
        page.say(said, "green")
        solved(level, STARS, "it cannot be broken")
        return 0
    if found.moves is None:
        page.say(f"Nobody knows: {found.states} states were looked at, and there are more.")
        return 1
    page.say(f"It can be broken, in {found.par} moves.")
    return 1


# ---------------------------------------------------------------------------------- the rank


def be_the_rank(page: Page) -> int:
    game = rank_game.Game()
    said = (
        "You are rank 2 of 4. Each round you send one of your chunks to rank 3; rank 1 sends you one.\n"
        "All must end with every rank's numbers once in each chunk. The ring takes 6 rounds and 6 chunks.\n\n"
        + RANK_KEYS
    )
    for key in pressed(page):
        if key == "q":
            return 1
        if key == "r":
            game, said = rank_game.Game(), ""
        elif key in "0123n" and key:
            game.send(None if key == "n" else int(key))
            came = "nothing" if game.came is None else f"chunk {game.came}"
            said = f"{came} came from rank {rank_game.LEFT}"
        elif key.strip():
            said = RANK_KEYS
        table(page, game, said)
        if game.is_over:
            return verdict(page, game)
    return 1


def table(page: Page, game: rank_game.Game, said: str) -> None:
    page.anew()
    page.tell(
        (f"round {game.round}", "bold"),
        f"   you have sent {game.sent[rank_game.ME]} chunks; the ring takes {rank_game.PAR} of each",
    )
    page.say()
    page.as_it_is(" " * 10 + "".join(f"chunk {chunk:<4}" for chunk in range(rank_game.SIZE)))
    for rank, chunks in enumerate(game.holds):
        cells = "".join(f"{rank_game.in_words(count):<10}" for count in chunks)
        line = f"{rank_game.name(rank):<10}{cells}{game.received[rank]} of {rank_game.PAR} received"
        page.say(Text(line, "bold" if rank == rank_game.ME else "", no_wrap=True))
    page.say()
    for line in said.split("\n") if said else ():
        page.as_it_is(line)
    page.prompt("> ")


def verdict(page: Page, game: rank_game.Game) -> int:
    page.say()
    if game.is_stuck:
        waiting = [rank_game.name(r) for r, n in enumerate(game.received) if n < rank_game.PAR]
        page.say(f"✘ stuck: {', '.join(waiting)} wait for a chunk that nobody sends", "red")
    wrong, stars = game.wrong(), game.stars()
    if wrong:
        more = f", and {len(wrong) - 1} more" if wrong[1:] else ""
        page.say(f"✘ exactly once: {wrong[0]}{more}", "red")
    else:
        page.say("✔ exactly once", "green")
    ring = f"(the ring: {rank_game.PAR})"
    sent = f"{game.round} rounds {ring}, {game.sent[rank_game.ME]} chunks sent {ring}"
    page.say(f"{sent}   {starred(stars)}")
    if stars:
        achievements.enter("game", "rank", stars, starred(stars))
    return 0 if stars else 1
