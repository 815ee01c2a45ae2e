"""Worlds of processes, of which one is struck.

nursery      forks the ranks, strikes one, hears what each says
blows        kill, freeze, interrupt, no disk, few files, little memory
programs     what the ranks do, and what has to be true afterwards
launches     mtdrun, of which the agent or a worker is struck
jobs         two jobs at once at one port, file or broker, of which none is struck
"""

from __future__ import annotations

from tests.hostile.faults import jobs, launches, programs
from tests.hostile.running import Part


def fault_parts() -> list[Part]:
    return [*programs.parts(), launches.part(), *jobs.parts()]
