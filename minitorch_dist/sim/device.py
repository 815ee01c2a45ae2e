"""A device that takes time: how long an operation with these sizes takes on it.

    time = max(FLOP / (peak of the dtype × efficiency), bytes read and written / (bandwidth × stream)) + launch

This is the roofline of Williams, Waterman and Patterson (CACM 52(4), 2009, doi:10.1145/1498765.1498785). An
efficiency that depends on the sizes of a product is added, and the time that each launch takes. Only shapes
and dtypes count, never values.

    efficiency = top · s / (s + half)                                   of a small machine; s: the smallest of rows, columns and terms
                 top / (1 + half_area / area + half_depth / terms)      of a GPU; area: rows × columns of all its products
                 most · length / (length + half)                        of attention in one kernel, by its head

Known devices stand in `devices.toml`, each number with its source. Their efficiency is 1 until somebody fits it on
tables of kernels (`mtd.planning.kernel_fits`): then the roofline alone is predicted, which is faster than any real device. A
device that is `like` another one has the same chip, and its efficiencies.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from minitorch_dist.tensors.flops import AttentionSizes, Sizes
from minitorch_dist.tensors.pools import parse_bytes, readable
from transports.clock import PICO
from transports.plain_text import clean
from transports.quantities import amount, byte_time, in_words, span

KNOWN: Final = Path(__file__).with_name("devices.toml")
FITTED: Final = (
    "top",
    "half_area",
    "half_depth",
    "stream",
    "tops",
    "attention",
    "launch",
    "contention",
    "host",
    "host_memory",
    "fitted",
)
NOT_FITTED: Final = "not fitted: top is 1 and half is 0"


class Product(NamedTuple):
    """One product of matrices, or other work that is counted in FLOP (then without `sizes`)."""

    flops: int
    sizes: Sizes | AttentionSizes | None = None
    dtype: str = ""  # if it is not that of the tensors


@dataclass(frozen=True)
class Device:
    """A device on which a rank computes. Numbers may be given for texts: FLOP/s, bytes/s, bytes, and picoseconds.

    Args:
        name: Its name in reports.
        peak: FLOP a second by dtype, such as `{"float32": "20T"}`.
        bandwidth: That of its memory, such as "2TB/s".
        memory: Its memory, such as "80GB".
        launch: The time that each launch takes, like "4us".
        top: The largest share of the peak that a product reaches.
        half: The side of a product at which it reaches half of that.
        half_area: The rows × columns at which half of that is reached.
        half_depth: The terms of a product at which half of that is reached.
        stream: The share of the memory's bandwidth that large copies reach.
        tops: Another `top` for a dtype.
        attention: The largest share and the half length of attention, by kernel and head, like "2/128".
        contention: How many times longer an operation takes while a collective of the same rank is under way.
        host: The rate of the link to the host's memory, each way, such as "55GB/s". Without it, such copies are not timed.
        host_memory: The share of this device in the rate at which the host's processors update parameters.
        fitted: The published rows that the efficiency is fitted to.
        sources: Where the numbers are from.

    Example:
        >>> mine = sim.Device("mine", peak={"float32": "20T"}, bandwidth="2TB/s", memory="80GB")
        >>> def product():
        ...     torch.ones(1000, 1000) @ torch.ones(1000, 1000)
        >>> sim.run(product, 1, device=mine).time  # 2e9 FLOP at 20 TFLOP/s
        100000000
    """

    name: str
    peak: Mapping[str, Any]
    bandwidth: Any
    memory: Any = None
    launch: Any = 0
    top: float = 1.0
    half: float = 0.0
    half_area: float = 0.0
    half_depth: float = 0.0
    stream: float = 1.0
    tops: Mapping[str, float] = field(default_factory=dict)
    attention: Mapping[str, Sequence[float]] = field(default_factory=dict)
    contention: float = 1.0
    host: Any = field(default=None, repr=False)
    host_memory: Any = field(default=None, repr=False)
    fitted: str = NOT_FITTED
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    per_byte: Fraction = field(init=False, repr=False)  # picoseconds

    def __post_init__(self) -> None:
        if not isinstance(self.peak, Mapping):
            raise TypeError(f'a device\'s peak is by dtype, like {{"float32": "20T"}}, not {self.peak!r}')
        self._check_numbers()
        peak = {dtype: _flops(given, dtype) for dtype, given in self.peak.items()}
        per_byte = _per_byte("bandwidth", self.bandwidth)
        rates = {name: getattr(self, name) for name in ("host", "host_memory") if getattr(self, name) is not None}
        for name, value in (
            ("peak", peak),
            ("per_byte", per_byte),
            ("bandwidth", float(PICO / per_byte)),
            *((name, float(PICO / _per_byte(name, rate))) for name, rate in rates.items()),
            ("memory", None if self.memory is None else parse_bytes(self.memory)),
            ("launch", span(self.launch)),
        ):
            object.__setattr__(self, name, value)

    def _check_numbers(self) -> None:
        """ValueError for a number that no device can have."""
        if not isinstance(self.tops, Mapping) or not isinstance(self.attention, Mapping):
            raise ValueError("a device's tops are by dtype, and its attention by kernel and head")
        shares = [("top", self.top), ("stream", self.stream), *self.tops.items()]
        others: list[tuple[str, Any, float]] = [("contention", self.contention, 1)]
        others += [(name, getattr(self, name), 0) for name in ("half", "half_area", "half_depth")]
        others += [
            (name, n, -1e30) for name in ("memory", "launch") if isinstance(n := getattr(self, name), int | float)
        ]
        for kernel, pair in self.attention.items():
            if not isinstance(pair, Sequence) or len(pair) != 2:
                raise ValueError(f"a device's attention of {kernel} is a share and a half length, not {pair!r:.40}")
            shares.append((f"attention of {kernel}", pair[0]))
            others.append((f"attention of {kernel}", pair[1], 0))
        for name, share in shares:
            if not _is_number(share) or not 0 < share <= 1:
                raise ValueError(f"a device's {name} is a share above 0 and at most 1, not {share!r:.40}")
        for name, value, least in others:
            if not _is_number(value) or value < least:
                raise ValueError(
                    f"a device's {name} is a number of at least {least:g} and at most 1e30, not {value!r:.40}"
                )

    def efficiency(self, sizes: Sizes | AttentionSizes | None, flops: int = 0, dtype: str = "") -> float:
        """The share of the peak that a product with these sizes reaches. Without sizes: the top. `flops`: of several products at once."""
        top = self.tops.get(dtype, self.top)
        if isinstance(sizes, AttentionSizes):
            return self._of_attention(sizes, top)
        if sizes is None or not min(sizes):
            return top
        rows, columns, terms = sizes
        area = max(flops / (2 * terms), rows * columns)
        slower = 1 + self.half / min(sizes) + self.half_area / area + self.half_depth / terms
        return top / slower

    def _of_attention(self, sizes: AttentionSizes, top: float) -> float:
        """That of the nearest head that was measured; a product's top where none was."""
        known = {
            abs(int(head) - sizes.head): pair
            for name, pair in self.attention.items()
            if (words := name.partition("/"))[0] == sizes.kernel and (head := words[2])
        }
        if not known or not sizes.length:
            return top
        most, half = known[min(known)]
        return most * sizes.length / (sizes.length + half)

    def peak_of(self, dtype: str) -> int:
        """FLOP a second; ValueError for a dtype of which nothing is known."""
        found = self.peak.get(dtype)
        if found is None:
            raise ValueError(
                f"{self.name} multiplies {dtype}, but its peak is known for {', '.join(self.peak)} only. "
                f"Say sim.gpu({self.name!r}, peak={{{dtype!r}: …}}), or convert the tensors"
            )
        return int(found)

    def time(self, nbytes: int, dtype: str = "", products: Iterable[Product] = ()) -> int:
        """Picoseconds of an operation that reads and writes so many bytes and makes these products. Each
        product is a launch; an operation without products is one."""
        launches, compute = 0, 0.0
        for product in products:
            launches += 1
            if product.flops:
                kind = product.dtype or dtype
                rate = self.peak_of(kind) * self.efficiency(product.sizes, product.flops, kind)
                compute += product.flops * PICO / rate
        memory = nbytes * self.per_byte if self.stream == 1 else float(nbytes * self.per_byte) / self.stream
        longer = compute if compute > memory else memory
        return round(longer) + max(launches, 1) * int(self.launch)

    def _said_efficiency(self) -> str:
        if not self.half_area and not self.half_depth:
            return f"{self.top:g} · s / (s + {self.half:g})"
        tops = "".join(f", {dtype} {top:g}" for dtype, top in self.tops.items())
        attention = "".join(
            f", {name} {most:g} · length / (length + {half:g})" for name, (most, half) in self.attention.items()
        )
        return (
            f"{self.top:g} / (1 + {self.half_area:g} / area + {self.half_depth:g} / terms){tops}{attention}, "
            f"stream {self.stream:g}"
        )

    def __str__(self) -> str:
        peaks = ", ".join(f"{dtype} {rate / 1e12:g}" for dtype, rate in self.peak.items())
        holds = "" if self.memory is None else f", {readable(self.memory)}"
        return (
            f"{self.name}: {peaks} TFLOP/s, {readable(self.bandwidth)}/s{holds}, launch "
            f"{in_words(self.launch)}, efficiency {self._said_efficiency()} "
            f"({self.fitted}), contention {self.contention:g}"
        )


CHANGED: Final = sorted(each.name for each in fields(Device) if each.init and each.name != "name")


def _is_number(value: object) -> bool:
    """Neither a truth value nor infinite, nor larger than anything that there is."""
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool) and -1e30 <= value <= 1e30


def _per_byte(name: str, rate: Any) -> Fraction:
    """Picoseconds."""
    if isinstance(rate, str):
        return byte_time(rate)
    if _is_number(rate) and rate > 0:
        return Fraction(PICO) / Fraction(rate)
    raise ValueError(f"a device's {name} is above 0 and at most 1e30, not {rate!r:.40}")


def _flops(given: Any, dtype: str) -> int:
    found = amount(given) if isinstance(given, str) else int(given) if _is_number(given) else 0
    if found <= 0:
        raise ValueError(f"a peak is above 0 and at most 1e30, but that of {dtype} is {given!r:.40}")
    return found


# ----------------------------------------------------------------------------- devices by name


@cache
def _table() -> dict[str, dict[str, Any]]:
    with KNOWN.open("rb") as file:
        table = tomllib.load(file)
    for name, row in table.items():
        if "like" in row:  # the same chip: its efficiencies, as far as it has none of its own
            like = table[row.pop("like")]
            table[name] = {**{word: like[word] for word in FITTED if word in like}, **row}
    return table


def known() -> list[str]:
    """The names of the devices in the file."""
    return list(_table())


def gpu(name: str, *, tf32: bool = False, **changes: Any) -> Device:
    """A known device, such as "H100-SXM"; "h100" will do where only one name begins so. Or a file (`.toml`) that
    `mtd calibrate cpu` wrote.

    Args:
        name: The name, in any case, or the path.
        tf32: Products of float32 run at the peak of tf32, as with torch's `set_float32_matmul_precision("high")`.
        **changes: Fields of `Device` that are to be others; `peak` adds to the known ones.

    Returns:
        The Device.

    Example:
        >>> sim.gpu("h200").name
        'H200-SXM'
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(f'a device is named by a text, such as "H100-SXM", not by {name!r}')
    if strangers := [word for word in changes if word not in CHANGED]:
        raise TypeError(f"a device has no {strangers[0]!r}; it has {', '.join(CHANGED)}")
    path = Path(name)
    if path.suffix == ".toml":
        found, row = _in_file(path)
        try:  # here the file is to blame, later a change would be
            Device(found, **row)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    else:
        found = _found(name)
        row = dict(_table()[found])
    peak = {**row.pop("peak"), **changes.pop("peak", {})}
    if tf32:
        if "tf32" not in peak:
            raise ValueError(f"{name} has no tf32; it has {', '.join(peak)}")
        peak["float32"] = peak["tf32"]
    return Device(found, peak, **{**row, **changes})


def _in_file(path: Path) -> tuple[str, dict[str, Any]]:
    """The only device of a file, as `mtd calibrate cpu` writes it."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}; mtd calibrate cpu writes one") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} is no file of a device: {clean(str(error))}") from None
    rows = [(name, dict(row)) for name, row in table.items() if isinstance(row, dict)]
    if len(rows) != 1 or len(table) != 1 or not isinstance(rows[0][1].get("peak"), dict):
        raise ValueError(f"{path} is no file of one device; mtd calibrate cpu writes one")
    name, row = rows[0]
    if unknown := set(row) - {*CHANGED}:
        raise ValueError(f"{path}: a device has no {', '.join(sorted(unknown))}; it has {', '.join(CHANGED)}")
    if "bandwidth" not in row:
        raise ValueError(f"{path}: the bandwidth of {name} is missing")
    return clean(name, lines=False), row


def _found(name: str) -> str:
    names = known()
    lower = {one.lower(): one for one in names}
    asked = str(name).lower()
    if asked in lower:
        return lower[asked]
    starts = [one for one in names if asked and one.lower().startswith(asked)]
    if len(starts) == 1:
        return starts[0]
    near = starts or [lower[one] for one in difflib.get_close_matches(asked, lower, 3, 0.4)]
    said = f" (perhaps {' or '.join(near)}?)" if near else ""
    raise ValueError(
        f"no device is called {name!r}{said}; there are {', '.join(names)}. Your own is "
        'sim.Device("mine", peak={"float32": "20T"}, bandwidth="1TB/s"), or a file of mtd calibrate cpu'
    )
