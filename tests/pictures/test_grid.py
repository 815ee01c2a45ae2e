"""A grid: letters that fit, SVG that is well-formed, a page that needs nothing, and the same after a journey as JSON."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from minitorch_dist.distributed.schedules import ring
from mtd.course import all_reduces
from mtd.grids import grid_page, grid_svg
from mtd.grids.contributions import filled, of_schedule
from mtd.grids.grid import Grid
from mtd.grids.grid_cells import GridFault

SVG = "{http://www.w3.org/2000/svg}"
GRIDS = {
    "right": filled(all_reduces.ring, size=3, count=3),
    "wrong": filled(all_reduces.plus_for_minus, size=3, count=3),
    "large": of_schedule(ring.all_reduce, 8),
    "alone": of_schedule(ring.all_reduce, 1),
}


@pytest.mark.parametrize("name", GRIDS)
def test_it_fits_the_terminal(name: str) -> None:
    grid = GRIDS[name]
    for width in (80, 100):
        picture = grid.draw(width)
        assert len(picture.lines) <= 15
        if name != "large":  # a step of eight ranks alone is wider than some terminals
            assert max(map(len, picture.lines)) <= width
        for row, column, _ in picture.paint:
            assert picture.lines[row][column] != " "


def test_what_is_left_out_is_said() -> None:
    lines = GRIDS["large"].draw(120).lines
    assert lines[-1].startswith("(without ") and " 14" in lines[1]
    assert "without" not in str(GRIDS["right"])


@pytest.mark.parametrize("name", GRIDS)
def test_it_is_the_same_after_a_journey(name: str) -> None:
    grid = GRIDS[name]
    again = Grid.from_json(json.loads(json.dumps(grid.to_json())))
    assert str(again) == str(grid) and again.fault == grid.fault
    assert grid_svg.moving(again) == grid_svg.moving(grid)


@pytest.mark.parametrize("name", GRIDS)
def test_svg_shows_every_cell_of_every_step(name: str) -> None:
    grid = GRIDS[name]
    root = ElementTree.fromstring(grid_svg.draw(grid))
    boxes = [one for one in root.iter(f"{SVG}rect") if "box" in one.get("class", "").split()]
    assert len(boxes) == len(grid.steps) * len(grid.rows) * len(grid.columns)
    wrong = [one for one in boxes if "wrong" in one.get("class", "").split()]
    assert len(wrong) == (0 if grid.fault is None else len(grid.steps) - grid.fault.step)


@pytest.mark.parametrize("name", GRIDS)
def test_the_one_that_moves_needs_no_script_and_ends_with_the_last_step(name: str) -> None:
    grid = GRIDS[name]
    text = grid_svg.moving(grid)
    root = ElementTree.fromstring(text)
    assert "<script" not in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    shown = [group for group in root.iter(f"{SVG}g") if group.get("opacity") == "1"]
    assert len(shown) == len(grid.rows) * len(grid.columns)  # where nothing is animated
    travelling = list(root.iter(f"{SVG}animateTransform"))
    assert len(travelling) == sum(len(step.messages) for step in grid.steps)
    for one in root.iter(f"{SVG}animate"):
        times = [float(word) for word in one.get("keyTimes", "").split(";")]
        assert times == sorted(times) and times[0] == 0 and times[-1] <= 1
        assert len(times) == len(one.get("values", "").split(";"))


def test_the_page_shows_all_steps_to_a_reader_without_scripts() -> None:
    grid = GRIDS["wrong"]
    page = grid_page.draw(grid, GRIDS["right"])
    assert page.count("<section>") == len(grid.steps) + len(GRIDS["right"].steps)
    assert "default-src 'none'" in page and "src=" not in page and page.count("<nav></nav>") == 2
    names = [part.split('"')[0] for part in page.split('id="')[1:]]
    assert len({*names}) == len(names) and all(f'querySelectorAll("#{name}")' in page for name in names)
    assert 'class="wrong' in page and "all_reduces.py:" in page
    assert GRIDS["right"]._repr_html_().startswith('<div class="mtd-grid"')


def test_names_of_others_are_only_names() -> None:
    grid = Grid("<b>&", ["<i>"], ["<u>"], GRIDS["alone"].steps, [["a"]], GridFault(0, 0, 0, "<script>"))
    for text in (grid_svg.draw(grid), grid_svg.moving(grid), grid_page.part(grid)):
        assert not any(word in text for word in ("<b>&", "<i>", "<u>", "<script>alert", "<script></"))
        assert "&lt;script&gt;" in text
