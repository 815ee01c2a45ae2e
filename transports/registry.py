"""From an address to a transport: `tcp://host:port`, `file:///path`, `queue://`, …

The built-in schemes are a lazy table, so that nothing is imported that is not used and an
uninstalled checkout works. Other schemes are looked up among the entry points of installed
distributions, in the group `minitorch_dist.transports`: one line in its setup makes a transport of
yours known here.
"""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any

from transports.contract import Transport

GROUP = "minitorch_dist.transports"

_SCHEMES = ("queue", "sim", "tcp", "file", "mqtt", "mpi")
BUILT_IN = {scheme: f"transports.{scheme}:{scheme.capitalize()}Transport" for scheme in _SCHEMES}
ALIASES = {"gloo": "tcp"}


def scheme_of(address: str) -> str:
    """`tcp` of `tcp://host:1`; a bare name is a scheme itself; `gloo` is a name for `tcp`."""
    scheme = address.partition("://")[0].lower()
    return ALIASES.get(scheme, scheme)


def find(address: str) -> type[Transport]:
    """The class for an address; ValueError lists what is known."""
    scheme = scheme_of(address)
    target = BUILT_IN.get(scheme)
    if target is not None:
        module, _, name = target.partition(":")
        found: Any = getattr(importlib.import_module(module), name)
    else:
        plugins = {point.name: point for point in entry_points(group=GROUP)}
        if scheme not in plugins:
            known = ", ".join(f"{s}://" for s in [*BUILT_IN, *sorted(plugins)])
            raise ValueError(
                f"no transport for {address!r}: the scheme {scheme!r} is not known. Known are "
                f"{known}; others come from installed packages with an entry point in {GROUP!r}."
            )
        found = plugins[scheme].load()
    if not (isinstance(found, type) and issubclass(found, Transport)):
        raise TypeError(f"{scheme}:// leads to {found!r}, which is not a Transport")
    return found


def known() -> list[str]:
    """All schemes that `find` would accept."""
    return [*BUILT_IN, *sorted(point.name for point in entry_points(group=GROUP))]
