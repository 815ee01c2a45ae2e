"""`mtd likeness`: how much of torch is here, name by name and argument by argument; asks the torch that is installed.

    like = compare("nn", torch.nn, minitorch_dist.nn)
    like.shared, like.missing, like.arguments       arguments: {name: what its parameters lack here}

Counted are the public names (`__all__`, else what has no underscore and was not imported from elsewhere).
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from mtd.cli.parser import Parser
from mtd.refusals import CannotDo

MOST = 8  # names that are listed
# The modules of torch that a user of this package meets, and may go on with.
MODULES = (
    "", "Tensor", "nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "nn.parallel",
    "optim", "optim.lr_scheduler", "autograd", "amp", "utils.data", "utils.checkpoint", "futures",
    "distributions", "multiprocessing", "distributed", "distributed.device_mesh", "distributed.rpc",
    "distributed.autograd", "distributed.optim", "distributed.fsdp", "distributed.fsdp.wrap",
    "distributed.pipelining", "distributed.tensor", "distributed.tensor.parallel",
    "distributed.tensor.placement_types", "distributed.checkpoint",
    "distributed.checkpoint.state_dict", "distributed.checkpoint.default_planner",
    "distributed.checkpoint.filesystem", "distributed.nn.functional", "distributed.algorithms.join",
    "distributed.elastic.multiprocessing", "distributed.elastic.multiprocessing.errors",
    "distributed.elastic.rendezvous", "distributed.elastic.agent.server",
)  # fmt: skip


@dataclass
class Likeness:
    name: str
    shared: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    arguments: dict[str, list[str]] = field(default_factory=dict)
    comparable: int = 0  # functions whose arguments both sides tell

    @property
    def names(self) -> str:
        """Its public names that are here."""
        return f"{len(self.shared)} of {len(self.shared) + len(self.missing)}"

    @property
    def whole(self) -> str:
        """Its functions here that take all its arguments."""
        return f"{self.comparable - len(self.arguments)} of {self.comparable}"


def compare(name: str, theirs: Any, ours: Any) -> Likeness:
    """The names of `theirs` that are in `ours`."""
    found = Likeness(name)
    for public in names_of(theirs):
        if not hasattr(ours, public):
            found.missing.append(public)
            continue
        found.shared.append(public)
        wanted, given = parameters(getattr(theirs, public)), parameters(getattr(ours, public))
        if wanted is None or given is None:
            continue
        found.comparable += 1
        lacking = wanted - given - {"**"}
        if lacking and "**" not in given:
            found.arguments[public] = sorted(lacking)
    return found


def names_of(module: Any) -> list[str]:
    said = getattr(module, "__all__", None)
    own = {name for name in dir(module) if _is_own(module, name)}
    if said is None or not inspect.ismodule(module):
        return sorted(own)
    is_package = hasattr(module, "__path__") and module.__name__ != "torch"
    public = {name for name in said if not name.startswith("_")}
    return sorted(public | own if is_package else public)


def _is_own(module: Any, name: str) -> bool:
    """Public, callable, and not merely imported into the module."""
    if name.startswith("_"):
        return False
    value = getattr(module, name, None)
    if isinstance(value, ModuleType) or not (callable(value) or inspect.isdatadescriptor(value)):
        return False
    home = str(getattr(value, "__module__", None) or "")
    package = getattr(module, "__name__", "torch").partition(".")[0]
    return not inspect.ismodule(module) or not home or home.partition(".")[0] in (package, "builtins")


def parameters(value: Any) -> set[str] | None:
    """The names of its arguments; `**` if it takes any. None if it does not tell."""
    try:
        taken = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = {one.name: one.kind for one in taken if one.kind is not one.VAR_POSITIONAL}
    names = {"**" if kind is kind.VAR_KEYWORD else name for name, kind in kinds.items()}
    return {name for name in names if not name.startswith("_")} - {"self"}


def find(package: str, path: str) -> Any:
    """`package.path`: a module, or a class in it. None if it is not there."""
    full = f"{package}.{path}".rstrip(".")
    try:
        return pkgutil.resolve_name(full)
    except (ImportError, AttributeError):
        return None


def survey() -> list[Likeness]:
    """All modules of the list."""
    return [*map(of, MODULES)]


def of(name: str) -> Likeness:
    """One module of torch, and ours."""
    ours = find("minitorch_dist", name)
    return compare(name, find("torch", name), object() if ours is None else ours)


def configure(parser: Parser) -> None:
    parser.takes("""
        module MODULE?  one module, in full: distributed.rpc, nn, Tensor
        --markdown      the table of docs/to_pytorch.md
    """)
    parser.excludes("--markdown", "module")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError as error:
        raise CannotDo("it compares with torch: pip install torch==2.13.0") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.module is not None:
            if find("torch", options.module) is None:
                raise CannotDo(f"there is no torch.{options.module}")
            lines = in_full(of(options.module))
        elif options.markdown:
            lines = markdown(survey(), torch.__version__)
        else:
            lines = table(survey())
    print("\n".join(lines))
    return 0


def table(survey: list[Likeness]) -> Iterator[str]:
    """A line a module, for the terminal."""
    yield f"{'torch.':<52} {'names':>9} {'arguments':>11}"
    for one in survey:
        yield f"{one.name or '(itself)':<52} {one.names:>11} {one.whole:>9}"
    yield "\nmtd likeness MODULE names what is missing"


def in_full(found: Likeness) -> Iterator[str]:
    yield f"{found.names.replace('of', 'of the')} public names of torch.{found.name} are here."
    if found.missing:
        yield textwrap.fill(f"Not here: {', '.join(found.missing)}", 80)
    for name, lacking in sorted(found.arguments.items()):
        yield textwrap.fill(f"{name} does not take: {', '.join(lacking)}", 80)


def markdown(survey: list[Likeness], version: str) -> Iterator[str]:
    yield f"torch {version.partition('+')[0]}; `mtd likeness --markdown` makes this table.\n"
    yield "| module of torch | names here | take all arguments | not here |"
    yield "|---|---|---|---|"
    for one in survey:
        few = ", ".join(f"`{name}`" for name in one.missing)
        missing = few if len(one.missing) <= MOST else f"{len(one.missing)} names"
        title = f"`torch.{one.name}`" if one.name else "`torch`"
        yield f"| {title} | {one.names} | {one.whole} | {missing} |"
