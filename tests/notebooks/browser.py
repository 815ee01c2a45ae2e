"""A learner in JupyterLab, in a headless browser: `python -m tests.notebooks.browser COURSE` prints what was seen, as JSON.

Lesson 1 is solved in its cells. Lesson 13 is wrong in its file, is checked and stepped through, and is corrected in the file.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from mtd.course import lesson as lessons, notebook_copies
from mtd.course.workspace import Workspace

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LIMIT = 90_000  # milliseconds
COMING = "coming = (rank - step - 1) % size"
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},  # all cells are in the page, seen or not
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


@contextlib.contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """A server for this folder; its address."""
    with tempfile.TemporaryDirectory() as own:
        for name, settings in SETTINGS.items():
            file = Path(own) / "@jupyterlab" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(settings))
        env = {**os.environ, "JUPYTERLAB_SETTINGS_DIR": own, "JUPYTER_CONFIG_DIR": own}
        options = [
            "--no-browser",
            "--allow-root",
            "--port=0",
            f"--ServerApp.root_dir={folder}",
            "--IdentityProvider.token=t",
        ]
        command = [sys.executable, "-m", "jupyterlab", *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as server:
            assert server.stderr is not None
            try:
                ports = (re.search(r"http://127\.0\.0\.1:(\d+)/", line) for line in server.stderr)
                port = next(found[1] for found in ports if found)
                threading.Thread(target=server.stderr.read, daemon=True).start()
                yield f"http://127.0.0.1:{port}"
            finally:
                server.terminate()


class LessonPage:
    """A lesson's notebook in the browser."""

    def __init__(self, page: Page, address: str, course: Workspace, number: float) -> None:
        lesson = lessons.find(number)
        path = notebook_copies.to_work_on(course, lesson)
        self.page = page
        page.goto(f"{address}/lab/tree/{path.relative_to(course.folder)}?token=t&reset")
        self.stored = self._stored_buttons()
        self.run("answers.begin")

    def _stored_buttons(self) -> int:
        """Of the stored picture, when it has run its script. Then all outputs go: a new kernel counts from 1 again,
        and `run` waits for another number than is there."""
        self.cell("lesson.picture").locator(".cm-content").wait_for()
        found = self.page.locator(".mtd-grid nav button").count()
        self.page.get_by_role("menuitem", name="Edit", exact=True).click()
        self.page.get_by_role("menuitem", name="Clear Outputs of All Cells").click()
        return found

    def cell(self, text: str) -> Any:
        return self.page.locator(".jp-CodeCell", has=self.page.locator(".cm-content", has_text=text)).first

    def text(self, text: str) -> str:
        return str(self.cell(text).locator(".cm-content").inner_text())

    def write(self, text: str, new: str) -> None:
        self.cell(text).locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(new)

    def run(self, text: str) -> Any:
        """Run the cell with this text, wait for its end; its outputs."""
        cell = self.cell(text)
        place = self.page.locator(".jp-CodeCell").evaluate_all(
            "(all, one) => all.indexOf(one)", cell.element_handle()
        )
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.inner_text()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        self.page.wait_for_function(
            "([place, before]) => { const said = document.querySelectorAll('.jp-CodeCell')[place].querySelector('.jp-InputPrompt').innerText;"
            " return said !== before && /\\d/.test(said); }",
            arg=[place, before],
        )
        return self.page.locator(".jp-CodeCell").nth(place).locator(".jp-OutputArea-output")


def solved_in_its_cells(lesson: LessonPage) -> dict[str, Any]:
    blank = lesson.run("lesson.check()").all_inner_texts()
    given = lesson.text("BLANK 1")
    answer = "\n".join(lessons.find(1).source.blanks[0].solution)
    lesson.write("BLANK 1", re.sub(r"\n *raise NotImplementedError.*", f"\n{answer}", given))
    lesson.run("BLANK 1")
    return {"blank": blank, "solved": lesson.run("lesson.check()").all_inner_texts()}


def wrong_in_its_file(lesson: LessonPage, file: Path, right: str) -> dict[str, Any]:
    """The file is corrected; then its cell runs, and waits until it has what stands there."""
    shown = lesson.run("lesson.check()")
    steps = shown.locator(".mtd-grid section")
    seen = [[*map(bool, steps.evaluate_all("all => all.map(one => !one.hidden)"))]]
    wrong = shown.locator("td.wrong:visible").count()
    shown.get_by_label("one step back").click()
    seen.append([*map(bool, steps.evaluate_all("all => all.map(one => !one.hidden)"))])
    said = shown.all_inner_texts()
    file.write_text(right)
    lesson.run("def all_reduce")
    lesson.cell(COMING).wait_for()
    return {
        "stored": lesson.stored,
        "said": said,
        "wrong cells": wrong,
        "seen": seen,
        "cell": lesson.text("def all_reduce"),
    }


def main(folder: str) -> None:
    course, ring = Workspace(Path(folder)), lessons.find(13)
    right = course.text_of(ring)
    file, found = course.file(ring), {}
    with jupyterlab(course.folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 1000})
        page.set_default_timeout(LIMIT)
        found["1"] = solved_in_its_cells(LessonPage(page, address, course, 1))
        file.write_text(right.replace(COMING, "coming = (rank - step) % size", 1))
        found["13"] = wrong_in_its_file(LessonPage(page, address, course, 13), file, right)
        browser.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
