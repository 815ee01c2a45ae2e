"""Symmetry: ranks that do the same run your program once (`sim.run(…, fold=True)`).

    program ──► a representative of each role runs it; what it begins is noted, and nothing is sent
                     │  its trace: computing, collectives, messages, waits
                     ▼
    every rank replays the trace of its role, in the real clock, on the real network:
    one rank of each class, where ranks do everything at the same instants; else all of them

Times and bytes are those of the full run, on every network. A role is a set of ranks that take the same branches. A class is a
part of a role whose ranks also have equal messages, over equal links, with ranks of equal classes.

    acts        the parts of a trace
    rank_number a rank that notices which ranks a comparison tells apart
    roles       the roles of one program, and their representatives
    recording_engine  the schedules of its collectives
    noted_work  their Works
    trace       a rank that runs the program alone, and notes what it begins
    peers       what the others would have sent, where it has numbers
    replaying   a rank that does what a trace says
    replayed_device  its device
    repeats     micro-batches that do what earlier ones did, and are noted instead of run
    classes     ranks that do everything at the same instants
    class_replay  one rank of each class replays
    undisturbed   acts of a class that nothing disturbs, as one event
    folding     both halves, one after the other; and the run in full where they do not fit
    attaching   it attaches to a run
"""

import sys

from minitorch_dist.inventory import plugs
from mtd.planning.fold.attaching import WithFolding as WithFolding
from mtd.planning.fold.folding import Fold as Fold, Folded as Folded
from mtd.planning.fold.roles import CannotFold as CannotFold, Role as Role

folded = WithFolding
plugs.register("fold", sys.modules[__name__])
