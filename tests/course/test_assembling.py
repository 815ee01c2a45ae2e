"""What a learner wrote is a system: assembled it needs numpy and nothing of ours, and trains over real wires."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from mtd.cli import main
from mtd.course import assembling, building, lesson, workspace
from mtd.course.assembling import AssembleError
from mtd.course.lesson import LessonError
from mtd.course.workspace import Workspace
from tests.transports.hosts import Hosts, why_not
from transports.broker import credentials, launch

STEPS = ["--steps", "6", "--every", "3", "--patience", "20"]
GUARD = """
import importlib, pathlib, sys, numpy, numpy.random
class Guard:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in ("numpy", "mystack"):
            raise ImportError(f"{name} is imported")
sys.meta_path.insert(0, Guard())
folder = pathlib.Path("mystack")
for path in sorted(folder.rglob("*.py")):
    if path.name != "__main__.py":
        importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
print("all imported")
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference") / "mystack"
    assembling.assemble(folder, None)
    return folder


def python(stack: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=stack.parent,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(stack.parent)},
    )


def run(stack: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(stack, "-m", "mystack", *arguments)


def digest(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = re.findall(r"weights ([0-9a-f]{16})", done.stdout)
    return str(found)


def course(folder: Path, *solved: int) -> Workspace:
    """A learner who has solved these lessons."""
    mine, _ = workspace.make(folder)
    for number in solved:
        one = lesson.find(number)
        mine.file(one).write_text(one.source.solution(marks=True), "utf-8")
    return mine


def test_it_imports_numpy_and_nothing_of_ours(stack: Path) -> None:
    for path in stack.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            tops: list[str] = []
            if isinstance(node, ast.Import):
                tops = [one.name.partition(".")[0] for one in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                tops = [str(node.module).partition(".")[0]]
            assert all(top == "numpy" or top in sys.stdlib_module_names for top in tops), (path, tops)
    done = python(stack, "-c", GUARD)
    assert done.stdout == "all imported\n", done.stderr


def test_lessons_are_word_for_word_but_for_their_imports(stack: Path) -> None:
    for one in lesson.all_lessons():
        if one.module in assembling.WITHOUT:
            continue
        before, after = (
            {
                node.name: ast.unparse(node)
                for node in ast.parse(text).body
                if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            }
            for text in (one.source.solution(), (stack / one.file).read_text("utf-8"))
        )
        gone = assembling.LEFT_OUT.get(one.module, frozenset()) | {
            getattr(node, "name", "") for node in assembling.tests_of(ast.parse(one.source.solution()))
        }
        assert after == {name: text for name, text in before.items() if name not in gone}


def test_a_name_that_the_stack_does_not_need_stays_where_the_learner_uses_it() -> None:
    one, modules = lesson.find(5), {each.module for each in lesson.all_lessons()}
    ours = one.source.solution(marks=True)
    mine = ours + "\n\ndef mine():\n    raise Deadlock(in_words([]))\n"
    kept = ("class Deadlock", "def in_words", "class World", "def spawn")
    assert [word in assembling.rewritten(ours, one, modules) for word in kept] == [False] * 4
    assert [word in assembling.rewritten(mine, one, modules) for word in kept] == [True, True, False, False]
    assert assembling.added(one, ours, "gap") == assembling.added(one, mine, "gap") - 2


@pytest.mark.slow
def test_the_commands_of_the_readme_train_over_each_wire(tmp_path: Path) -> None:
    """`mtd assemble && python -m mystack train --ranks 4`, in a clone that has no course."""
    made = subprocess.run(
        [sys.executable, "-m", "mtd", "assemble"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(lesson.ROOM.parent)},
    )
    assert made.returncode == 0 and "all modules are ours" in made.stdout, made.stderr
    stack = tmp_path / "mystack"
    over_tcp = run(stack, "train", "--ranks", "4")
    over_a_folder = run(stack, "train", "--ranks", "4", "--wire", "file")
    with launch.start() as broker:
        named = broker.address.replace("//", "//{}:{}@".format(*credentials.credentials()))
        over_mqtt = ["train", "--ranks", "4", "--wire", "mqtt", "--broker", named, *STEPS]
        killed = run(stack, *over_mqtt, "--kill", "2@3")
    golden = (stack / "face" / "golden.txt").read_text("utf-8").split()
    for done, steps in ((over_tcp, 60), (over_a_folder, 60), (killed, 6)):
        assert digest(done) == golden[steps - 1] and "bit for bit" in done.stdout
    assert "a rank was killed" in killed.stdout
    nobody = run(stack, *over_mqtt)
    assert nobody.returncode == 2 and "there is no broker at" in nobody.stderr


@pytest.mark.slow
def test_an_open_broker_is_a_wire_and_a_closed_one_says_what_it_wants(stack: Path) -> None:
    """`mtd broker --open` knows no password; `mtd broker` takes only those who hold the job's key."""
    train = ["train", "--ranks", "1", "--steps", "1", "--wire", "mqtt", "--broker"]
    golden = (stack / "face" / "golden.txt").read_text("utf-8").split()
    with launch.start("--open") as broker:
        assert digest(run(stack, *train, broker.address)) == golden[0]
    with launch.start() as broker:
        refused = run(stack, *train, broker.address)
    assert "the broker wants a name and a password" in refused.stderr
    assert "mtd broker does not with --open" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize("words", ["lessons", "--help", "examine --ranks 1", "train --ranks 2 --steps 3 --every 1"])
def test_a_reader_who_has_seen_enough_ends_it_without_a_word(stack: Path, words: str) -> None:
    """As in `python -m mystack lessons | head`: nobody reads what is printed, here or by rank 0."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "mystack", *words.split()],
            cwd=stack.parent,
            text=True,
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=300,
            env={**os.environ, "PYTHONPATH": str(stack.parent)},
        )
    finally:
        os.close(writing)
    assert done.stderr == ""


@pytest.mark.slow
def test_two_machines_train_an_odd_number_of_ranks_though_one_is_killed(stack: Path) -> None:
    """Two hosts with a cable between them where this machine can have them; else two launchers."""
    with Hosts(2) if not why_not() else nullcontext() as hosts:
        first, second = hosts.names if hosts else ("", "")
        at = ["--host", "10.99.0.1"] if hosts else []
        train = ["train", "--ranks", "5", "--here", "3", "--kill", "4@4", "--ddp", "17", *at, *STEPS]
        with start(stack, first, *train) as here:
            assert here.stdout is not None and "3 of 5 ranks will run here" in here.stdout.readline()
            typed = here.stdout.readline().split("mystack ")[1].split()
            with start(stack, second, *typed) as there:
                assert there.communicate(timeout=300)[0].count("2 of 5 ranks start here") == 2
            said = here.communicate(timeout=300)[0]
    assert "a rank was killed" in said and "bit for bit" in said
    assert (stack / "face" / "golden.txt").read_text("utf-8").split()[5] in said
    assert (here.returncode, there.returncode) == (0, 0)


@pytest.mark.deep
def test_both_machines_end_when_a_cable_is_pulled(stack: Path) -> None:
    """The second machine's launcher waits for a store that no packet reaches any more."""
    if reason := why_not():
        pytest.skip(reason)
    train = ["train", "--here", "2", "--host", "10.99.0.1", "--steps", "5000", "--every", "1"]
    with Hosts(2) as hosts, start(stack, hosts.names[0], *train, "--patience", "5") as here:
        assert here.stdout is not None and "2 of 4 ranks will run here" in here.stdout.readline()
        typed = here.stdout.readline().split("mystack ")[1].split()
        with start(stack, hosts.names[1], *typed) as there:
            assert here.stdout.readline().startswith("step ")
            hosts.pull(1)
            assert there.wait(timeout=120) == here.wait(timeout=120) == 1


def start(stack: Path, host: str, *words: str) -> subprocess.Popen[str]:
    inside = ["ip", "netns", "exec", host] if host else []
    return subprocess.Popen(
        [*inside, sys.executable, "-u", "-P", "-m", "mystack", *words],
        cwd=stack.parent,
        text=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(stack.parent)},
    )


REFUSED = {
    "train --here 5": "from 1 to --ranks, which is 4",
    "train --here 2 --wire file": "take tcp or mqtt",
    "train --here 2 --host 198.51.100.77": "this machine cannot listen there",
    "train --here 2 --host 0.0.0.0": "one address of this machine",
    "train --host 127.0.0.1:29500": "say with --here how many",
    "join 192.168.1.5:29500": "say where and how many",
}


def test_what_several_machines_cannot_do_is_refused(stack: Path) -> None:
    script = f"""
from mystack.face.main import main
for words in {[*REFUSED]!r}:
    try:
        main(words.split())
    except SystemExit as end:
        assert end.code == 2
"""
    said = python(stack, "-c", script).stderr
    errors = [line for line in said.split("\n") if ": error:" in line]
    assert len(errors) == len(REFUSED), said
    for error, why in zip(errors, REFUSED.values(), strict=True):
        assert why in error
    nobody = run(stack, "join", "127.0.0.1:9", "--here", "1")
    assert nobody.returncode == 1 and "nobody waits at 127.0.0.1:9" in nobody.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "ranks"),
    [("zero", "2"), ("fsdp", "3"), ("pipeline", "4"), ("tensor", "3"), ("experts", "3"), ("server", "3")],
)
def test_sharded_and_in_stages_it_ends_with_the_same(stack: Path, program: str, ranks: str) -> None:
    done = run(stack, program, "--ranks", ranks, *STEPS)
    assert digest(done) and "bit for bit" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "wire"), [("3", "tcp"), ("2", "file")])
def test_every_right_lesson_passes_the_examination(stack: Path, ranks: str, wire: str) -> None:
    done = run(stack, "examine", "--ranks", ranks, "--wire", wire)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✘" not in done.stdout and done.stdout.count("✔") > 25


def test_a_file_that_cannot_be_read_is_not_replaced_by_ours_in_silence(tmp_path: Path) -> None:
    mine = course(tmp_path, 13)
    mine.file(lesson.find(13)).write_bytes(b"# caf\xe9")
    with pytest.raises(LessonError, match="not UTF-8"):
        assembling.modules_of(mine)


def test_it_says_whose_lessons_these_are(tmp_path: Path) -> None:
    mine = course(tmp_path / "course", 5, 13)
    made = assembling.assemble(tmp_path / "mystack", mine)
    assert [part.lesson.number for part in made.parts if part.whose == "yours"] == [5, 13]
    assert [part.written for part in made.parts if part.whose == "yours"] == [4, 29]
    assert [part.size for part in made.parts if part.whose == "yours"] == ["gap", "gap"]
    done = run(tmp_path / "mystack", "lessons")
    assert "lesson 13 (ring.py, yours)" in done.stdout and "lesson 14 (doubling.py, ours)" in done.stdout
    assembling.assemble(tmp_path / "mystack", mine)  # again, over what it wrote


@pytest.mark.parametrize("number", [12])
def test_properties_are_left_out_written_or_not(number: int) -> None:
    """Whether the learner has left the example as it was, or has written a property with strategies of their own."""
    one = lesson.find(number)
    mine = one.source.solution(marks=True)
    as_given = one.source.filled({b.number: b.instead for b in one.source.blanks if b.instead})
    strategies = "DRAWN = st.integers()\nTWICE = DRAWN.map(lambda n: 2 * n)\n"
    modules = {one.module for one in lesson.all_lessons()}
    wanted = assembling.rewritten(one.source.solution(), one, modules)
    for text in (mine, as_given, mine + strategies):
        found = assembling.rewritten(text, one, modules)
        assert ast.unparse(ast.parse(found)) == ast.unparse(ast.parse(wanted))
        assert "property_of" not in found and "hypothesis" not in found
        assert assembling.added(one, text, "gap") == assembling.added(one, mine, "gap")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "right", "wrong", "how"),
    [
        (13, "(rank - step - 1) % size", "(rank - step) % size", ["--all-reduce", "ring"]),
        (2, "stretched, keepdims=True)", "stretched, keepdims=True) / 2", []),
        (3, "grads[following] + part if", "part if", []),
        (8, "return np.frombuffer(payload, dtype)", "return np.frombuffer(payload[::-1], dtype)", []),
        (31, "return all_rows(grad)", "return 2 * all_rows(grad)", []),
        (32, "exchanged(grad, ctx.came, ctx.sent)", "2 * exchanged(grad, ctx.came, ctx.sent)", []),
        (34, "part if before is None else before + part", "part", ["--schedule", "34"]),
    ],
)
def test_a_wrong_answer_is_named_with_its_lesson(
    tmp_path: Path, number: float, right: str, wrong: str, how: list[str]
) -> None:
    mine, one = course(tmp_path / "course"), lesson.find(number)
    text = one.source.solution()
    assert right in text
    mine.file(one).write_text(text.replace(right, wrong), "utf-8")
    assembling.assemble(tmp_path / "mystack", mine)
    command = {31: "tensor", 32: "experts", 34: "pipeline"}.get(number, "train")
    done = run(tmp_path / "mystack", command, "--ranks", "3", *how, "--steps", "3", "--patience", "2")
    assert done.returncode == 1
    assert f"✘ lesson {number:02} ({one.file}, yours)" in done.stdout, done.stdout + done.stderr


def test_what_is_no_python_is_named_with_its_line(tmp_path: Path) -> None:
    mine, one = course(tmp_path / "course", 13), lesson.find(13)
    mine.file(one).write_text("def all_reduce(tensor):\n    return (tensor\n", "utf-8")
    with pytest.raises(AssembleError, match=r"lesson 13, line 2 of ring.py is not Python"):
        assembling.assemble(tmp_path / "mystack", mine)
    assert not (tmp_path / "mystack").exists()
    mine.file(one).write_text("import scipy\n", "utf-8")
    with pytest.raises(AssembleError, match=r"lesson 13, line 1 of ring.py imports scipy"):
        assembling.assemble(tmp_path / "mystack", mine)


def test_nothing_of_others_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mystack").mkdir()
    (tmp_path / "mystack" / "thesis").write_text("years")
    with pytest.raises(AssembleError, match="has other things in it"):
        assembling.assemble(tmp_path / "mystack", None)
    with pytest.raises(AssembleError, match="is a file"):
        assembling.assemble(tmp_path / "mystack" / "thesis", None)
    with pytest.raises(AssembleError, match="is no name"):
        assembling.assemble(tmp_path / "my-stack", None)
    assert [path.name for path in (tmp_path / "mystack").iterdir()] == ["thesis"]


def test_the_command_says_what_it_took_and_what_it_cannot_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course(tmp_path / "course", 13)
    into = ["assemble", "--out", str(tmp_path / "mystack")]
    assert main([*into, "--from", str(tmp_path / "course")]) == 0
    said = capsys.readouterr().out
    assert "yours: lesson 13," in said and "29 of these lines you wrote yourself (gap size)" in said
    assert "ours: lessons 01, 02" in said and "given: " in said
    assert main([*into, "--from", str(tmp_path / "nowhere")]) == 2
    assert "there is no course in" in capsys.readouterr().err
    assert main([*into, "--reference"]) == 0
    assert "yours" not in capsys.readouterr().out


def test_the_kept_stack_needs_numpy_alone_and_trains() -> None:
    """`mystack` of the repository. That it is what the lessons assemble to, the test of all generated files says."""
    files = sorted(building.STACK.rglob("*.py"))
    assert len(files) > 40
    for path in files:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                root = name.partition(".")[0]
                assert root == "numpy" or root in sys.stdlib_module_names, f"{path}: {name}"
    command = [sys.executable, "-P", "-m", "mystack", "train", "--ranks", "2"]
    said = subprocess.run(
        command,
        cwd=building.STACK.parent,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": "."},
        timeout=300,
    )
    assert said.returncode == 0, said.stderr
    assert "one rank alone has the same weights, bit for bit" in said.stdout
