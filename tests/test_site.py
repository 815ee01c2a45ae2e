"""The site's generator: each page is in the order of pages, and no link or picture of it is missing. `make docs` renders it."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "generator"))
try:
    import commands
    import reference
    from links import Places
    from reference import all_names
finally:
    sys.path.pop(0)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    subprocess.run([sys.executable, str(ROOT / "docs" / "generator"), str(folder)], check=True, timeout=300, cwd=ROOT)
    return folder


def test_every_page_has_a_place_in_the_order(build: Path) -> None:
    settings = (build / "mkdocs.yml").read_text("utf-8")
    order = re.findall(r"(?:- |: )([\w./]+\.md)$", settings.partition("\nnav:")[2], re.M)
    pages = {path.relative_to(build / "pages").as_posix() for path in (build / "pages").rglob("*.md")}
    assert len(order) == len(set(order))
    assert {page for page in pages if not page.startswith("source/")} == set(order)


def test_every_link_of_the_site_leads_to_a_page(build: Path) -> None:
    pages = build / "pages"
    for page in pages.rglob("*.md"):
        text = re.sub(r"^ *(````?).*?^ *\1$|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.M | re.S)
        for target in re.findall(r"\]\((?![a-z]+:|#)([^)\s#]+)", text):
            assert (page.parent / target).exists(), (page, target)


def test_a_link_outside_code_is_rewritten_and_one_in_code_is_not() -> None:
    places = Places()
    places.page_of = {"docs/ddp.md": "ddp.md", "lessons/README.md": "lessons/index.md"}
    text = "[a](../docs/ddp.md#x) `[b](../docs/ddp.md)` [c](README.md) [d](https://e.org/f.md)"
    assert places.rewritten(text, "lessons/README.md", "lessons/index.md") == (
        "[a](../ddp.md#x) `[b](../docs/ddp.md)` [c](index.md) [d](https://e.org/f.md)"
    )


@pytest.mark.parametrize("name", all_names())
def test_every_parameter_is_described(name: str) -> None:
    found = reference.find(name)
    asked = {one.name for one in reference.parameters(found)}
    assert reference.described(found) == asked
    parts = reference.sections(found)
    assert parts[""] and parts["Example"]
    for words in reference.items(parts.get("Args", "")).values():
        assert words.endswith((".", ".)")), words


@pytest.mark.parametrize("name", all_names())
def test_every_example_runs(name: str) -> None:
    begin: dict[str, object] = {}
    exec(re.search(r"```python\n(.*?)```", reference.TOP, re.S)[1] + "import warnings\n", begin)  # type: ignore[index]
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(reference.find(name)), begin, name, None, None)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert test.examples and not report, "".join(report)


def test_some_150_names_stand_in_the_reference_once() -> None:
    assert len(all_names()) > 150
    assert len(set(all_names())) == len(all_names())


def test_every_option_of_every_command_has_a_help_text() -> None:
    seen = 0
    for name, parser in [*commands.parsers(), ("mtdrun", commands.get_args_parser())]:
        for action in commands.actions(parser):
            assert action.help, (name, action.dest)
            seen += 1
    assert seen > 100


NOT_OURS = {  # of the system, the terminal and Python
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "TERM",
    "PATH",
    "PYTHONPATH",
    "PYTHONHASHSEED",
    "PYTHONFAULTHANDLER",
    "LOCALAPPDATA",
}


def variables_in(path: Path) -> set[str]:
    """The environment variables that a module names. Of a name with a part that is computed, an asterisk stands for the part."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            text = "".join(one.value if isinstance(one, ast.Constant) else "*" for one in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if re.fullmatch(r"(?:MINITORCH_DIST|MTD|TORCH[A-Z]*|PET)_[A-Z_*]+", text):
            found.add(text + "*" if text.endswith("_") else text)
    for called in re.findall(
        r"""(?:environ\.(?:get|pop)|getenv|environ)[\[(]f?["']([A-Z_]+)["']""", path.read_text("utf-8")
    ):
        found.add(called)
    return found


@pytest.mark.slow
def test_every_environment_variable_is_in_the_table() -> None:
    listed = {one["name"] for group in commands.VARIABLES for one in group["variable"]}
    files = [path for folder in ("minitorch_dist", "transports", "mtd") for path in (ROOT / folder).rglob("*.py")]
    read = set().union(*map(variables_in, [*files, ROOT / "mtd_backend.py", ROOT / "mtd_fixtures.py"]))
    assert read - NOT_OURS - listed == set()
    assert listed - read - {"GROUP_WORLD_SIZE", "OMP_NUM_THREADS", "RANK", "WORLD_SIZE", "XDG_STATE_HOME"} == set()
