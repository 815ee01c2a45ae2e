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
Only `compute`, sleeping, and the network (see `transports.virtual.topology`) cost time. So times are those
of the textbooks' formulas, in whole picoseconds.

    runner               `sim.run`: its keywords, and what attaches to a run
    run_arguments        its arguments, looked at before anything runs
    attachments          devices, memory, timelines, faults, a journal, tensors without numbers
    running              the run itself
    stage                what a run happens on: crashes and restarts are carried out here
    report               what a run did
    program_calls        what a program calls
    power                how fast ranks compute, and how long a computation takes on this very rank
    device  device_time  a device that takes time: what an operation costs, and who pays
    host_copies          copies between a device and the memory of its host
    module_names         the modules that an operation belongs to
    nets                 networks by name, and networks in files
    topologies           networks as they are built: grids, fat trees, rails, dragonflies
    topology_links       a network as the bills of schedules see it
    message_engine       collectives, message by message
    stepwise             one rank in one of them, step by step
    fast                 all ranks together, where that is exact: plugs that may be left out
    exploring            many seeds
    chaos  hardship      the faults, and the delays, that a seed stands for
    leaf_lots            which of several complete gradients is collected first
    exhausting  choices  every schedule of a small program
    unfinished           tensors of operations that are not over, and who uses one too early
    arrival_order        the order of messages that explains a wrong value
    failure              what went wrong, in the fewest faults
    failure_identity     whether two failures are the same one
    replay_token         the token of a run, and the run of a token
    scene                what all ranks are doing
    determinism          the same run again: is it the same?
    other_processes      the same run in other processes
    torch_programs       whether a program is written for PyTorch itself
"""

from typing import Any

from minitorch_dist.inventory import not_offered, plugs
from minitorch_dist.sim import fast as fast
from minitorch_dist.sim.attachments import OnDevice, RunPart as RunPart, WithFaults, WithJournal, WithMemory, WithShapes
from minitorch_dist.sim.chaos import Chaos as Chaos, chaos as chaos
from minitorch_dist.sim.determinism import NotDeterministic as NotDeterministic, check_determinism as check_determinism
from minitorch_dist.sim.device import Device as Device, gpu as gpu
from minitorch_dist.sim.device_time import DeviceUse as DeviceUse
from minitorch_dist.sim.exhausting import Exhaustion as Exhaustion, exhaust as exhaust
from minitorch_dist.sim.exploring import (
    SIZES as SIZES,
    LeansOnBuffering as LeansOnBuffering,
    NeverTrue as NeverTrue,
    Survey as Survey,
    explore as explore,
    replay as replay,
    survey as survey,
)
from minitorch_dist.sim.failure import Failure as Failure
from minitorch_dist.sim.hardship import STRICTLY as STRICTLY
from minitorch_dist.sim.nets import Hockney as Hockney, LogGP as LogGP
from minitorch_dist.sim.program_calls import (
    compute as compute,
    mark as mark,
    now as now,
    restarts as restarts,
    sometimes as sometimes,
    start as start,
    value as value,
)
from minitorch_dist.sim.report import RankReport as RankReport, Report as Report
from minitorch_dist.sim.runner import run as run
from minitorch_dist.sim.topologies import (
    dragonfly as dragonfly,
    fat_tree as fat_tree,
    mesh as mesh,
    rails as rails,
    torus as torus,
)
from transports.errors import (
    Deadlock as Deadlock,
    Livelock as Livelock,
    NeedsBuffering as NeedsBuffering,
    Overwritten as Overwritten,
    ReadTooEarly as ReadTooEarly,
    ReceivedAtOnce as ReceivedAtOnce,
)
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
from transports.virtual.fault_injector import Plan as Plan
from transports.virtual.network import Network as Network
from transports.virtual.topology import (
    Link as Link,
    link as link,
    matrix as matrix,
    two_level as two_level,
    uniform as uniform,
)

# These attach to a run, in `sim.run(…, with_=[…])`.
devices = OnDevice
faults = WithFaults
journal = WithJournal
memory = WithMemory
shapes = WithShapes

_BROUGHT = {
    "CannotFold": ("fold", "CannotFold"),
    "Folded": ("fold", "Folded"),
    "Role": ("fold", "Role"),
    "folded": ("fold", "WithFolding"),
    "timelines": ("timelines", "WithTimelines"),
}


def __getattr__(name: str) -> Any:
    if name not in _BROUGHT:
        raise not_offered.no_name(__name__, name)
    plug, there = _BROUGHT[name]
    return getattr(plugs.find(plug), there)
