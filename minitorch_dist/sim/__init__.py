"""Run a distributed program in virtual time: any number of ranks, any network, the same each time.

    from minitorch_dist import sim

    def train(model):                        # the same function runs over tcp, file, mqtt, queue
        ...
        sim.compute("3ms")                   # what the real machine would have computed

    report = sim.run(train, world_size=64, args=(model,),
                     net=sim.two_level(8, 8, sim.link("2us", "150GB/s"), sim.link("5us", "100Gb/s")))
    report.time, report.ranks[3].bytes_sent, report.ranks[3].idle, report.digest, report.results

Exactly one rank runs at a time, in a thread of its own, and time jumps when all wait. A program that
can never end is told so at once: `Deadlock` says which rank waits for which, in what and where.
What costs time is `compute`, sleeping, and the network (see `transports.virtual.topology`); nothing else does,
so times are those of the textbooks' formulas, in whole picoseconds.

    runner  stage  report         a run: `sim.run`, what it happens on, what it did
    inside  power  nets           what a program calls; how fast ranks compute; networks by name, in files
    calibration  declared         a real transport measured; a network as the bills of schedules see it
    meetings                      collectives, message by message (`stepwise`, `light`) or all ranks together:
                                  `lockstep`, `crowd`, `overtaking` have the clocks, `fold` the values
    estimates  two_level_bounds   what a schedule takes without ranks, and what none can beat
    exploring  chaos  hardship    many seeds, and the faults and delays that each stands for
    exhausting  choices           every schedule of a small program
    failure  cases  scene         what went wrong, in the fewest faults; its token; what all ranks were doing
    determinism  forking          the same run again: is it the same? What if this message had come first?
"""

from minitorch_dist.sim.chaos import Chaos as Chaos, chaos as chaos
from minitorch_dist.sim.determinism import (
    NotDeterministic as NotDeterministic,
    check_determinism as check_determinism,
)
from minitorch_dist.sim.exhausting import Exhaustion as Exhaustion, exhaust as exhaust
from minitorch_dist.sim.exploring import (
    NeverTrue as NeverTrue,
    Survey as Survey,
    explore as explore,
    replay as replay,
    survey as survey,
    test as test,
)
from minitorch_dist.sim.failure import Failure as Failure
from minitorch_dist.sim.forking import come_first as come_first, fork as fork
from minitorch_dist.sim.inside import (
    always as always,
    compute as compute,
    now as now,
    restarts as restarts,
    sometimes as sometimes,
    start as start,
)
from minitorch_dist.sim.nets import Hockney as Hockney, LogGP as LogGP, mesh as mesh
from minitorch_dist.sim.report import RankReport as RankReport, Report as Report
from minitorch_dist.sim.runner import run as run
from transports.errors import Deadlock as Deadlock, Livelock as Livelock
from transports.faults.plans import (
    Fault as Fault,
    clog as clog,
    crash as crash,
    cut as cut,
    delay as delay,
    drop as drop,
    duplicate as duplicate,
    jitter as jitter,
    parse as parse,
    parse_all as parse_all,
    partition as partition,
    reorder as reorder,
    slow as slow,
)
from transports.virtual.fates import Plan as Plan
from transports.virtual.medium import Network as Network
from transports.virtual.topology import (
    Link as Link,
    link as link,
    matrix as matrix,
    two_level as two_level,
    uniform as uniform,
)
