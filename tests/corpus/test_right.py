"""No hardship accuses a right program, nor does a fault that heals: at least forty programs, with fixed seeds."""

from __future__ import annotations

import pytest

from minitorch_dist import sim
from minitorch_dist.sim.hardship import NAMES, STRICT
from tests.corpus import right
from tests.corpus.right import RightProgram
from tests.deep import IS_DEEP

PROGRAMS = list(right.all_programs())
SEEDS = 100 if IS_DEEP else 5


def test_there_are_at_least_forty() -> None:
    assert len(PROGRAMS) >= 40 and len({program.name for program in PROGRAMS}) == len(PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_it_is_not_accused(program: RightProgram) -> None:
    with right.with_lessons():
        for size in program.sizes:
            found = sim.survey(program.function, size, SEEDS, args=program.args)
            assert found.failure is None, found.failure.explain()


@pytest.mark.parametrize("letter", [letter for letter in NAMES if letter != STRICT])
def test_nor_by_a_single_hardship(letter: str) -> None:
    with right.with_lessons():
        for program in PROGRAMS if IS_DEEP else PROGRAMS[::4]:
            found = sim.survey(
                program.function, program.sizes[-1], [3], sim.chaos(0), args=program.args, hardships=letter
            )
            assert found.failure is None, f"{program.name}: {found.failure.explain()}"
