"""A lesson in a notebook: what stands in its cells is the lesson's module.

lesson = cells.begin(13, globals())        from here on `import ring` means these cells
…
print(lesson.check())                      the lesson's check, of what has been defined so far
lesson.picture()

Modules of earlier lessons can be imported by their names, as anywhere in the course.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, MutableMapping
from types import ModuleType
from typing import Any

from minitorch_dist.pictures import spacetime, svg
from minitorch_dist.pictures.scene import Scene
from minitorch_dist.pictures.words import preformatted
from mtd.course import checking
from mtd.course.lesson import Lesson, all_lessons, find
from mtd.course.path import LessonAnswer
from mtd.course.verdict import CheckVerdict
from mtd.grids.grid import Grid


class Here(ModuleType):
    """A module whose names are those of a notebook, now and later."""

    __slots__ = ("_namespace",)
    _namespace: MutableMapping[str, Any]

    def __init__(self, name: str, namespace: MutableMapping[str, Any], file: str) -> None:
        super().__init__(name, "The names that a notebook's cells define.")
        super().__setattr__("__file__", file)
        super().__setattr__("_namespace", namespace)

    @property
    def __dict__(self) -> MutableMapping[str, Any]:  # type: ignore[override]
        return self._namespace  # for vars()

    def __getattr__(self, name: str) -> Any:
        if name == "__path__" or name not in self._namespace:
            raise AttributeError(f"{self.__name__}: no cell that has run defines {name!r}")
        return self._namespace[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._namespace[name] = value

    def __delattr__(self, name: str) -> None:
        del self._namespace[name]

    def __dir__(self) -> list[str]:
        return sorted(self._namespace)


class NotebookDrawing:
    """A picture: a grid that can be stepped, and SVG, in a notebook; letters elsewhere."""

    def __init__(self, drawn: Scene | str, grid: Grid | None = None) -> None:
        self._drawn, self._grid = drawn, grid

    def _ipython_display_(self) -> None:
        """The grid, and below it the SVG as an image, which viewers show that take scripts and SVG out of HTML."""
        from IPython.display import display

        show: Callable[..., object] = display
        drawn, letters = self._drawn, repr(NotebookDrawing(self._drawn))
        if self._grid is not None:
            show(self._grid)
        if isinstance(drawn, Scene):
            show({"image/svg+xml": svg.draw(drawn), "text/plain": letters}, raw=True)
        elif drawn:
            show({"text/html": preformatted(drawn), "text/plain": letters}, raw=True)

    def _repr_html_(self) -> str:
        drawn = ""
        if isinstance(self._drawn, Scene):
            drawn = svg.draw(self._drawn)
        elif self._drawn:
            drawn = preformatted(self._drawn)
        return drawn if self._grid is None else self._grid._repr_html_() + drawn

    def __repr__(self) -> str:
        drawn = self._drawn
        if not isinstance(drawn, str):
            drawn = "\n".join(spacetime.draw(drawn, 80).lines)
        return "\n\n".join(filter(None, ["" if self._grid is None else str(self._grid), drawn]))


class NotebookLesson:
    """A lesson whose module is a notebook."""

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson

    def check(self) -> CheckVerdict:
        """Judge what stands in the cells now."""
        verdict = CheckVerdict(self._lesson)
        begun = time.process_time()
        checking.ask_all(verdict, LessonAnswer.ours(self._lesson), processes=False)
        verdict.seconds = time.process_time() - begun
        return verdict

    def picture(self) -> NotebookDrawing:
        check = checking.load(self._lesson)
        return NotebookDrawing(checking.drawn(check), checking.contents(check))

    def __repr__(self) -> str:
        return f"<{self._lesson}, in a notebook>"


def begin(number: float, namespace: MutableMapping[str, Any]) -> NotebookLesson:
    """Make these names, now and later, the module of a lesson."""
    lesson = find(number)
    stand_for(LessonAnswer.ours(lesson), namespace)
    return NotebookLesson(lesson)


def stand_for(answer: LessonAnswer, namespace: MutableMapping[str, Any]) -> None:
    """Make these names the lesson's module, and let those of earlier lessons be found."""
    module, places = answer.lesson.module, [str(place) for place in answer.folders()]
    for one in all_lessons():
        sys.modules.pop(one.module, None)
    sys.path[:0] = [place for place in places if place not in sys.path]
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*places, *([inherited] if inherited else [])])
    sys.modules[module] = Here(module, namespace, str(answer.file))
