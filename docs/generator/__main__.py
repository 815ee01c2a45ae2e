"""Write every page of the site into build/pages, and the site's settings beside them: `make docs` does so, and then builds it.

links       links of the repository become links of the site
chapters    lessons, museum and stack by chapter; code that pages link to
commands    commands, their options, and environment variables
figures     figures of the pages, from real runs (`figure_runs`, `figure_drawing`): `mtd dev build`
stack_page  the page of the whole stack, and that of mystack: `mtd dev build`
lessons_page  museum_page  the table of the lessons, and the museum: `mtd dev build`
one_call    the page that follows calls through files: `python docs/generator/one_call.py`
speed_page  the page of benchmarks, from measured rows: `mtd dev build`
reference   names that people call, from their docstrings; `names.toml` lists them
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from itertools import groupby
from pathlib import Path

import chapters
import commands
import reference
from chapters import Chapter
from links import ROOT, Places, targets

HERE = Path(__file__).parent
BUILD = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build"
PAGES = BUILD / "pages"
PROJECT = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "DESIGN.md": "five_decisions.md",
    "LICENSE": "license.md",
    "lessons/README.md": "lessons/index.md",
}


def main() -> None:
    lessons, museum, stack = list(chapters.lessons()), list(chapters.museum()), list(chapters.stack())
    heads = {"museum.md": museum, "whole_stack.md": stack}
    named = [*reference.pages(), *commands.pages()]
    pages = [*hand_written(heads), *project(), *lessons, *museum, *stack, *named]
    lists = {"museum": museum, "stack": stack, "reference": named}
    write(pages, {"lessons": by_part(lessons)} | {name: entries(some) for name, some in lists.items()})


def hand_written(heads: dict[str, list[Chapter]]) -> list[Chapter]:
    """The pages under docs/. Of a long one that is cut into chapters its beginning is left."""
    found = []
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = path.relative_to(ROOT / "docs").as_posix()
        origin = f"docs/{name}"
        text = chapters.head(origin, heads[name]) if name in heads else path.read_text("utf-8")
        found.append(Chapter(name.replace("README.md", "index.md"), text, origin, name))
    return found


def project() -> list[Chapter]:
    """The pages that stand at the root of the repository."""
    found = []
    for path, page in PROJECT.items():
        text = (ROOT / path).read_text("utf-8")
        text = text if path.endswith(".md") else f"# Licence\n\n```text\n{text}```\n"
        found.append(Chapter(page, text, path, page))
    return found


def by_part(lessons: list[Chapter]) -> str:
    return "".join(
        f"- {json.dumps(part)}:\n" + textwrap.indent(entries(list(some)), "    ")
        for part, some in groupby(lessons, key=lambda one: one.part)
    )


def entries(some: list[Chapter]) -> str:
    """Lines of the settings: a title and a page each."""
    return "".join(f"- {json.dumps(one.title, ensure_ascii=False)}: {one.page}\n" for one in some)


def filled(settings: str, made: dict[str, str]) -> str:
    """The settings with lists in the places of their names."""
    for name, lines in made.items():
        place = re.search(rf'^( *)- "@{name}"\n', settings, re.M)
        assert place is not None, name
        settings = settings.replace(place[0], textwrap.indent(lines, place[1]))
    return settings


def write(pages: list[Chapter], made: dict[str, str]) -> None:
    places = Places()
    for one in pages:
        places.page_of.setdefault(one.origin, one.page)
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES, ignore=shutil.ignore_patterns("*.md", "generator"))
    for path in PAGES.rglob("*.*"):
        name = path.relative_to(PAGES).as_posix()
        places.page_of[f"docs/{name}"] = name
    for one in [*pages, *linked(pages, places)]:
        path = PAGES / one.page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(places.rewritten(one.text, one.origin, one.page), encoding="utf-8")
    settings = filled((HERE / "site.yml").read_text("utf-8"), made)
    (BUILD / "mkdocs.yml").write_text(settings, encoding="utf-8")


def linked(pages: list[Chapter], places: Places) -> list[Chapter]:
    """A page for each file of the repository that a page links to, and that is no page yet. A notebook is only copied."""
    found = []
    for path in sorted({path for one in pages for path in targets(one.text, one.origin)} - set(places.page_of)):
        place = ROOT / path
        if place.suffix == ".ipynb":
            (PAGES / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(place, PAGES / path)
            places.page_of[path] = path
        elif place.is_dir() or (place.is_file() and place.suffix != ".md"):
            one = chapters.source(path)
            places.page_of[path] = one.page
            found.append(one)
    return found


if __name__ == "__main__":
    main()
