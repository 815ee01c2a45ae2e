"""Advice on objects: their class is code, and a file holds values only."""

from __future__ import annotations

from typing import Any


def advice(thing: Any, name: str) -> str:
    """One sentence that says what to write in the program, where `name` leads to `thing`."""
    kind = type(thing).__name__
    if callable(thing) and hasattr(thing, "__qualname__"):
        return "Save its name instead, and look that up in a dict of your own after load()."
    if hasattr(thing, "state_dict"):
        return f"Save its state_dict() instead, and load it into a new {kind} with load_state_dict()."
    return f"Save vars({name}) or a dict of the values that it was made of instead, and call {kind}(**…) with it after load()."
