"""Lesson 15: choose what the simulator finds the fastest, and know what nobody can beat."""

from functools import cache
from itertools import product
from math import log

import choice
import doubling
import ring

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.schedules.choice import candidates, known, named
from minitorch_dist.distributed.schedules.cost import textbook_time
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.pictures import words
from mtd.course import lab, lamp
from mtd.grids.contributions import of_schedule

NETS = {
    "a fast network": Links(2_000_000, 40),  # 2 µs, 200 Gb/s
    "ethernet": Links(30_000_000, 800),  # 30 µs, 10 Gb/s
    "a telephone": Links(20_000_000_000, 1_000_000),  # 20 ms, 8 Mb/s
    "only latency": Links(1_000_000, 1),
    "hardly any latency": Links(10_000, 100),  # 10 ns, 80 Gb/s
}
SIZES = (1, 2, 3, 4, 5, 8, 13, 16, 64, 100)
LENGTHS = (0, 4, 300, 4096, 65_536, 10**6, 10**8)
NAMES = tuple(choice.PRICES)


@cache
def took(name, size, nbytes, links):
    """Picoseconds, of the library's schedule with that name."""
    return textbook_time(known("all_reduce")[name], size, nbytes, links)


def where(size, nbytes, net):
    links = NETS[net]
    return f"{net} (α {links.alpha / 1e6:g} µs, β {links.beta} ps a byte), {lab.ranks(size)}, {nbytes} bytes"


@lamp("prices", star=1)
def prices():
    """Your time for each algorithm, and its real one; chunks that are not equal may make 2 % of difference."""
    for name, size, nbytes, net in product(NAMES, SIZES, (0, 4096, 10**6, 10**8), NETS):
        said, is_so = (
            choice.PRICES[name](size, nbytes, NETS[net]),
            took(name, size, nbytes, NETS[net]),
        )
        assert isinstance(said, int | float), f"{name}() returns {said!r}, which is not a number"
        unit = ""
        if 0 < said * 1000 < is_so:
            unit = " µs. Prices are in picoseconds, as links.alpha and links.beta are"
        assert abs(said - is_so) <= 0.02 * is_so, (
            f"{name}, {where(size, nbytes, net)}: it takes {is_so / 1e6:g} µs, and you say {said / 1e6:g}{unit}"
        )


@lamp("choice", star=2)
def within_five_percent():
    """On the whole grid, what you choose is at most 5 % slower than the fastest of the four."""
    for size, nbytes, net in product(SIZES, LENGTHS, NETS):
        chosen = choice.choose(size, nbytes, NETS[net])
        assert chosen in NAMES, f"choose() returns {chosen!r}, which is none of {', '.join(NAMES)}"
        times = {name: took(name, size, nbytes, NETS[net]) for name in NAMES}
        best = min(times, key=times.get)
        assert times[chosen] <= 1.05 * times[best], (
            f"{where(size, nbytes, net)}: you choose {chosen}, which takes {times[chosen] / 1e6:g} µs, "
            f"and {best} takes {times[best] / 1e6:g}"
        )


@lamp("plugs in", star=2)
def all_reduces_with_it():
    """Real programs in virtual time, 3, 8 and 13 ranks: `algorithm=choose(…)` is the fastest there too."""
    for size, count in product((3, 8, 13), (1, 1000, 100_000)):
        net = sim_net("a fast network")
        chosen = choice.choose(size, 4 * count, NETS["a fast network"])
        assert chosen in NAMES, f"choose() returns {chosen!r}, which is none of {', '.join(NAMES)}"
        times = {name: ran(name, size, count, net) for name in NAMES}
        best = min(times, key=times.get)
        assert times[chosen] <= 1.05 * times[best], (
            f"{size} ranks, {count} float32: you choose {chosen}, which took {times[chosen] / 1e6:g} µs, "
            f"and {best} took {times[best] / 1e6:g}"
        )


def sim_net(name):
    """One of NETS for programs that run message by message."""
    return sim.uniform(f"{NETS[name].alpha}ps", f"{1e12 / NETS[name].beta:.0f}B/s")


def ran(name, size, count, net):
    return played(lambda tensor: dist.all_reduce(tensor, algorithm=name), size, count, net)


def played(all_reduce, size, count, net):
    """Picoseconds that a program of one all_reduce takes, of `count` float32."""
    return sim.run(lambda: all_reduce(torch.ones(count)), size, net=net).time


def longest_part(size, nbytes, links):
    """The longest time that every all_reduce must take, and why."""
    rounds, sent = (size - 1).bit_length(), 2 * (size - 1) / size * nbytes
    return max(
        (
            rounds * links.alpha,
            f"a number reaches {2**rounds} ranks in {rounds} rounds, not before",
        ),
        (sent * links.beta, f"a rank has to send {sent:g} bytes"),
    )


@lamp("floor", star=3)
def nobody_beats_the_floor():
    """No schedule of the library is below it, nor what you have written; and it is not lower than it must be."""
    own = {
        "your doubling": doubling.all_reduce,
        "your rabenseifner": doubling.rabenseifner,
        "your ring": ring.all_reduce,
    }
    for size, nbytes, net in product(SIZES, (0, 4096, 10**6, 10**8), NETS):
        floor = choice.floor(size, nbytes, NETS[net])
        assert isinstance(floor, int | float), f"floor() returns {floor!r}, which is not a number"
        for schedule in candidates("all_reduce", nbytes, NETS[net]):
            time = textbook_time(schedule, size, nbytes, NETS[net])
            assert time >= floor * (1 - 1e-6), (
                f"{where(size, nbytes, net)}: {schedule} takes {time / 1e6:g} µs, "
                f"less than your floor of {floor / 1e6:g}"
            )
        must, why = longest_part(size, nbytes, NETS[net])
        assert floor >= 0.999 * must, (
            f"{where(size, nbytes, net)}: {why}. That takes {must / 1e6:g} µs, and your floor is {floor / 1e6:g}"
        )
    for size, count, (name, all_reduce) in product((2, 5, 8), (1, 1000), own.items()):
        time = played(all_reduce, size, count, sim_net("ethernet"))
        low = choice.floor(size, 4 * count, NETS["ethernet"])
        assert time >= low * (1 - 1e-6), (
            f"{where(size, 4 * count, 'ethernet')}: {name}, message by message, took {time / 1e6:g} µs, "
            f"less than your floor of {low / 1e6:g}"
        )


def where_halving_begins():
    """Bytes, 64 ranks, 1 µs and 100 Gb/s."""
    links, low, high = Links(1_000_000, 80), 1, 10**6
    while high - low > 1:
        middle = (low + high) // 2
        is_faster = took("rabenseifner", 64, middle, links) < took(
            "recursive_doubling", 64, middle, links
        )
        low, high = (low, middle) if is_faster else (middle, high)
    return high


def bus_of_a_ring():
    """GB/s: 8 ranks, a gigabyte, 12.5 GB/s links."""
    picoseconds = took("ring", 8, 10**9, Links(1_000_000, 80))
    return choice.bus_bandwidth(8, 10**9, picoseconds) / 1e9


LETTERS = {"recursive_doubling": "D", "rabenseifner": "H", "ring": "R", "binomial": "T"}
WIDTH, HEIGHT = 64, 20


def contents():
    """The algorithm that you choose for 8 bytes on a fast network, with five ranks."""
    name = choice.choose(5, 8, NETS["a fast network"])
    return of_schedule(named("all_reduce", name), 5)


def picture():
    """13 ranks on a fast network: time against bytes, both in powers of ten."""
    size, links = 13, NETS["a fast network"]
    lengths = [10 ** (2 + 6 * column / (WIDTH - 1)) for column in range(WIDTH)]
    times = {name: [took(name, size, int(n), links) for n in lengths] for name in NAMES}
    floors = [choice.floor(size, int(n), links) for n in lengths]
    top, bottom = max(max(row) for row in times.values()), min(floors)
    rows = [[" "] * WIDTH for _ in range(HEIGHT)]

    def mark(column, time, letter):
        height = log_part(time, bottom, top)
        rows[HEIGHT - 1 - round(height * (HEIGHT - 1))][column] = letter

    for column, nbytes in enumerate(lengths):
        mark(column, floors[column], "·")
        for name in reversed(NAMES):
            mark(column, times[name][column], LETTERS[name].lower())
        best = choice.choose(size, int(nbytes), links)
        mark(column, times[best][column], LETTERS[best])
    axis = [
        f"{words.span(int(bottom * (top / bottom) ** (1 - row / (HEIGHT - 1)))):>12} │"
        for row in range(HEIGHT)
    ]
    lines = ["13 ranks, 2 µs a message, 200 Gb/s: doubling, halving, ring, tree, · the floor"]
    lines.append("a capital letter is what you choose")
    lines += [(side + "".join(row)).rstrip() for side, row in zip(axis, rows)]
    lines.append(" " * 13 + "└" + "─" * WIDTH)
    marks = "".join(
        f"{label:<{WIDTH // 6}}" for label in ("100 B", "1 kB", "10 kB", "100 kB", "1 MB", "10 MB")
    )
    return "\n".join([*lines, " " * 14 + marks.rstrip(), "", *bus(size, links)])


def bus(size, links):
    """The bandwidth that the link carries, of the 25 GB/s that it could: as nccl-tests prints it."""
    lines = [f"{'bytes':>15}  {'you choose':<18} {'time':>12}  {'bus':>10}"]
    for nbytes in (10**3, 10**5, 10**7, 10**9):
        chosen = choice.choose(size, nbytes, links)
        time = took(chosen, size, nbytes, links)
        gigabytes = choice.bus_bandwidth(size, nbytes, time) / 1e9
        lines.append(f"{nbytes:>15,}  {chosen:<18} {words.span(time):>12}  {gigabytes:>5.2f} GB/s")
    return lines


def log_part(value, low, high):
    """0 at `low`, 1 at `high`, by powers of ten."""
    return log(value / low) / log(high / low)
