"""The games: pars are shortest, the right level holds, moves are what they say, and both play in a terminal and by lines."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from mtd import cli
from mtd.course import contest, levels, network_game, rank_game
from mtd.course.network_game import Impossible, NoLevel
from tests.course.terminal import Terminal

DOCS = Path(__file__).parents[2] / "docs" / "games.md"
BREAKABLE = [name for name in levels.NAMES if name != "at_most_once"]


@pytest.mark.parametrize("name", BREAKABLE)
def test_par_is_a_way_to_break_it_and_no_shorter_one_is_known(name: str) -> None:
    level = network_game.load(name)
    found = network_game.search(level)
    assert found.moves is not None and found.par == len(found.moves) >= 2
    assert network_game.play(level, found.moves).broken
    for end in range(found.par):
        assert not network_game.play(level, found.moves[:end]).broken


def test_one_is_right_and_stays_right_only_because_of_what_it_does(tmp_path: Path) -> None:
    level = network_game.load("at_most_once")
    found = network_game.search(level)
    assert found.moves is None and found.is_complete and found.states > 100
    source = Path(sys.modules[level.run.__module__].__file__ or "").read_text()
    for old, new in [
        ("if number not in known:", "if True:"),  # carried out again
        ("if message[1] == number:", "if True:"),  # any answer is taken for this one
        ("            while True:", "            for _ in range(1):"),  # never asked again
    ]:
        assert old in source
        file = tmp_path / "level.py"
        file.write_text(source.replace(old, new))
        broken = network_game.search(network_game.load(str(file)))
        assert broken.moves is not None, old


def test_without_merging_equal_states_the_par_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """That two orders are one is what makes the search short; it must not make it miss anything."""
    pars = {name: network_game.search(network_game.load(name)).par for name in BREAKABLE}
    number = iter(range(10**9))
    monkeypatch.setattr(network_game.GameState, "key", lambda self: next(number))
    for name in ("first_come", "heard_twice", "overtaken", "lease", "asked_again"):
        assert network_game.search(network_game.load(name)).par == pars[name]


def test_moves() -> None:
    level = network_game.load("asked_again")
    state = network_game.play(level, [])
    assert [str(one) for one in state.flight] == ["rank 1 → rank 0   ('add', 5)"]
    assert set(network_game.options(state)) == {"deliver 0", "drop 0", "wait"}
    for moves in (["deliver 3"], ["duplicate 0"], ["drop 0", "drop 1"]):
        with pytest.raises(Impossible):
            network_game.play(level, moves)
    with pytest.raises(Impossible, match="nobody's time is limited"):
        network_game.play(network_game.load("lease"), ["wait"])
    calm = network_game.play(level, ["deliver 0", "deliver 1"])
    assert calm.is_over and not calm.broken and calm.results[0] == 5
    assert network_game.play(level, ["drop 0"]).flight[0].number == 1  # time has passed: it is asked again


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "has no RANKS"),
        ("x =", "SyntaxError"),
        ('"""T."""\nRANKS = 1\nMAY = {"eat": 1}\ndef run(post, seen): ...\n', "MAY .'eat'."),
    ],
)
def test_levels_that_cannot_be_played(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "level.py"
    file.write_text(text)
    with pytest.raises(NoLevel, match=said):
        network_game.load(str(file))


def test_a_rank_that_raises_and_ranks_that_wait_for_ever_are_broken(tmp_path: Path) -> None:
    file = tmp_path / "level.py"
    file.write_text(
        '"""T."""\nRANKS = 2\ndef run(post, seen):\n    if post.rank: post.send(0, "a")\n    else: 1 / (post.receive()[1] != "a")\n'
    )
    assert "ZeroDivisionError" in network_game.play(network_game.load(str(file)), ["deliver 0"]).broken
    file.write_text(
        '"""T."""\nRANKS = 2\nMAY = {"drop": 1}\ndef run(post, seen):\n    if post.rank: post.send(0, "a")\n    else: post.receive()\n'
    )
    assert "nobody can go on" in network_game.play(network_game.load(str(file)), ["drop 0"]).broken


def test_what_the_page_shows(tmp_path: Path) -> None:
    level, tree = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    (tmp_path / "mine.py").write_text(level)
    assert network_game.search(network_game.load(str(tmp_path / "mine.py"))).par == 6
    (tmp_path / "tree.py").write_text(tree)
    found = contest.held(contest.read(tmp_path / "tree.py"), 8)
    (binomial,) = (entry for entry in found.entries if entry.name == "binomial")
    assert [leg.time for leg in found.mine.legs] == [leg.time for leg in binomial.legs]


# ------------------------------------------------------------------------------------ by lines


def played(monkeypatch: pytest.MonkeyPatch, lines: str, *arguments: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    return cli.main(["game", *arguments])


def test_the_network_by_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert played(monkeypatch, "2\n1\n", "network", "1") == 0
    said = capsys.readouterr().out
    assert "Solved in 2 moves; par is 2.  ★★★" in said and "the sentence is 'ape cow bee'" in said
    assert max(map(len, said.split("\n"))) <= 80
    assert played(monkeypatch, "1\nu\n9\ns\n?\nzz\nt\n2\n1\n", "network", "first_come") == 0
    said = capsys.readouterr().out
    assert "there is no message 9" in said and "def run(post, seen):" in said and "you may not wait" in said
    assert played(monkeypatch, "d1\n1\n", "network", "heard_twice") == 0
    assert played(monkeypatch, "1\n1\n", "network", "first_come") == 1  # it ends, unbroken
    assert "nothing is broken" in capsys.readouterr().out
    assert played(monkeypatch, "p\n", "network", "1") == 1
    assert "It can be broken, in 2 moves." in capsys.readouterr().out
    assert played(monkeypatch, "p\n", "network", "at_most_once") == 0
    assert "all there are, and it holds in each" in capsys.readouterr().out
    assert played(monkeypatch, "q\n", "network", "1") == 1
    assert played(monkeypatch, "", "network", "12") == 2


def test_the_list(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert played(monkeypatch, "", "network") == 0
    said = capsys.readouterr().out
    assert all(name in said for name in levels.NAMES) and "par" not in said
    assert played(monkeypatch, "", "network", "lost_update", "--par") == 0
    assert capsys.readouterr().out == "par 6\n"


def test_the_ring_wins_all_stars_and_mistakes_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ring = [rank_game.scheduled(rank_game.ME, step) for step in range(rank_game.PAR)]
    assert played(monkeypatch, "\n".join(map(str, ring)), "rank") == 0
    assert "✔ exactly once" in (said := capsys.readouterr().out) and "★★★" in said
    assert max(map(len, said.split("\n"))) <= 80
    assert played(monkeypatch, "n\n" + "\n".join(map(str, ring)), "rank") == 0  # one round late
    assert "7 rounds" in (said := capsys.readouterr().out) and "★☆☆" in said
    assert played(monkeypatch, "2\n2\n0\n3\n2\n1\n", "rank") == 1
    assert "✘ exactly once: chunk " in capsys.readouterr().out
    assert played(monkeypatch, "2\nn\nn\nn\nn\nn\nn\nn\n", "rank") == 1
    assert "stuck: " in capsys.readouterr().out


def test_a_chunk_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="there are 0 to 3"):
        rank_game.Game().send(4)


# -------------------------------------------------------------------------------- in a terminal


@pytest.mark.slow
def test_both_in_a_terminal(tmp_path: Path) -> None:
    with Terminal("game", "network", "lost_update", cwd=tmp_path) as terminal:
        terminal.see("Read, add one, write back", "rank 2 → rank 0", "1-9 deliver")
        for key, seen in [("1", "1 moves"), ("1", "2 moves"), ("u", "1 moves"), ("1", "2 moves")]:
            terminal.press(key)
            terminal.see(seen)
        for _ in range(4):
            terminal.press("1")
        terminal.see("Broken: two ranks have added one each", "par is 6", "★★★")
        terminal.end(0)
        assert terminal.is_cooked()
    with Terminal("game", "rank", cwd=tmp_path) as terminal:
        terminal.see("round 0", "0-3 send that chunk")
        for number, key in enumerate("210321", 1):
            terminal.press(key)
            terminal.see(f"round {number}")
        terminal.see("✔ exactly once", "★★★")
        terminal.end(0)
