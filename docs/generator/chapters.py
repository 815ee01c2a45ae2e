"""Pages that are made of longer ones: lessons, the museum and the whole stack, a chapter each; and files of code that pages link to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from links import ROOT

from mtd.course import tracks
from mtd.course.chapters.chapter import of_lesson
from mtd.course.lesson import Lesson

HIDDEN = "---\nsearch:\n  exclude: true\n---\n\n"
LANGUAGES = {".py": "python", ".toml": "toml", ".cfg": "ini", ".css": "css", ".js": "javascript"}


@dataclass(frozen=True)
class Chapter:
    """A page of the site that no file under docs/ is: its address, its text, and the file that its links are relative to."""

    page: str
    text: str
    origin: str
    title: str
    part: str = ""


def lessons() -> Iterator[Chapter]:
    """A page for each lesson, and one for each open chapter."""
    for lesson in tracks.in_order():
        name = lesson.folder.name
        origin = f"lessons/{name}/text.md"
        title = f"{lesson.number}. {lesson.title}"
        yield Chapter(f"lessons/{name}.md", lesson_page(lesson, title), origin, title, lesson.part)
        chapter = of_lesson(lesson)
        if chapter is not None:
            origin = f"lessons/{name}/open/text.md"
            text = (ROOT / origin).read_text("utf-8")
            title = f"{lesson.number}, open: {chapter.title}"
            text = text if text.startswith("# ") else f"# {title}\n\n*{chapter.question}*\n\n{text}"
            yield Chapter(f"lessons/{name}_open.md", text, origin, title, lesson.part)


def lesson_page(lesson: Lesson, title: str) -> str:
    name = lesson.folder.name
    picture = ROOT / "docs" / "figures" / f"lesson_{lesson.number}.svg"
    shown = f"![What the ranks hold, step by step](../../docs/figures/{picture.name})\n\n" if picture.exists() else ""
    return (
        f"# {title}\n\n*{lesson.question}* About {lesson.minutes} minutes. `mtd text {lesson.number}` shows it in the terminal, and\n"
        f"`mtd notebook {lesson.number}` opens it as [a notebook](../../notebooks/{name}.ipynb). "
        f"[Another one](../../notebooks/solutions/{name}.ipynb) has our solution.\n\n{shown}{lesson.text}"
    )


def cut(path: str, folder: str) -> Iterator[Chapter]:
    """The sections of a long page, a page each. The text above the first stays on the page itself."""
    sections = re.split(r"^## (?=.*$)", (ROOT / path).read_text("utf-8"), flags=re.M)[1:]
    for number, section in enumerate(sections, 1):
        title, _, text = section.partition("\n")
        yield Chapter(f"{folder}/{number:02}.md", f"# {title}\n{raised(text)}", path, title)


def raised(text: str) -> str:
    """One level of headings up, outside code."""
    pieces = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(
        piece if piece.startswith("```") else re.sub(r"^##(#+ )", r"#\1", piece, flags=re.M) for piece in pieces
    )


def museum() -> Iterator[Chapter]:
    """The museum, a page for each lesson, with the code of each bug folded under it."""

    def with_code(found: re.Match[str]) -> str:
        name, path, story = found[1], found[2], found[3]
        code = (ROOT / path).read_text("utf-8")
        folded = "\n".join(f"    {line}".rstrip() for line in f"```python\n{code}```".split("\n"))
        return f'## {name}\n{story}\n??? example "The code"\n\n{folded}\n\n'

    for one in cut("docs/museum.md", "museum"):
        text = re.sub(r"^## \[(.*?)\]\(\.\./(.*?)\)\n(.*?)(?=^## |\Z)", with_code, one.text, flags=re.M | re.S)
        yield Chapter(one.page, text, one.origin, one.title)


def stack() -> Iterator[Chapter]:
    yield from cut("docs/whole_stack.md", "whole_stack")


def head(path: str, chapters: list[Chapter]) -> str:
    """The beginning of a page whose sections are pages of their own, and a list of them."""
    top = re.split(r"^## ", (ROOT / path).read_text("utf-8"), maxsplit=1, flags=re.M)[0]
    top = top.replace("](#given)", f"]({chapters[-1].page})")
    return top + "\n".join(f"- [{one.title}]({one.page})" for one in chapters) + "\n"


def source(path: str) -> Chapter:
    """A page that shows a file of code, or lists the files of a folder."""
    place = ROOT / path
    if place.is_dir():
        names = sorted(
            f"{one.name}/" if one.is_dir() else one.name for one in place.iterdir() if one.name[0] not in "._"
        )
        text = "".join(f"- `{name}`\n" for name in names)
        return Chapter(f"source/{path}/index.md", f"{HIDDEN}# {path}/\n\n{text}", path, path)
    language = LANGUAGES.get(place.suffix, "text")
    code = place.read_text("utf-8")
    return Chapter(f"source/{path}.md", f"{HIDDEN}# {path}\n\n````{language}\n{code}````\n", path, path)
