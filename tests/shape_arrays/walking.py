"""All public operations, room by room, and what is known of some of them."""

from __future__ import annotations

import inspect
from typing import Any, Final

import minitorch_dist as mtd

ROOMS: Final[dict[str, Any]] = {
    "the package": mtd,
    "Tensor": mtd.Tensor,
    "functional": mtd.nn.functional,
    "linalg": mtd.linalg,
}

# Left out of the walk: the reason, and the names.
LEFT_OUT: Final = {
    "a switch of the process, which other tests look at": """
        set_default_dtype set_num_threads set_printoptions seed manual_seed
        use_deterministic_algorithms set_float32_matmul_precision set_rng_state set_grad_enabled
    """,
    "it tells of the process, and takes no tensor": """
        get_default_dtype get_num_threads get_rng_state
        initial_seed get_float32_matmul_precision are_deterministic_algorithms_enabled
        is_grad_enabled is_inference_mode_enabled
    """,
    "it reads or writes a file": "save load",
    "it starts ranks": "launch",
    "it takes a function, and is what this function is": "compile companion map_",
    "it hands memory on, and there is none": """
        data_ptr untyped_storage from_numpy frombuffer
    """,
    "it is about the graph, and not about an array": """
        backward register_hook register_post_accumulate_grad_hook retain_grad
    """,
    "it wants an accelerator": "cuda",
}

# The shape of what these return, or a plain Python value, depends on the numbers. Each of them has to ask for them.
ASK_FOR_NUMBERS: Final = {
    "nonzero",
    "argwhere",
    "unique",
    "equal",
    "allclose",
    "item",
    "tolist",
    "numpy",
    "where",
    "one_hot",
}
# In some lists a tensor stands for a number, as in `x.split(sizes)`; or an answer is the place of a largest element.
MAY_ASK: Final = {"max", "min", "repeat_interleave", "tensor_split", "softplus"}
# With numbers, these refuse values for which they are not made.
REFUSE_VALUES: Final = {"binary_cross_entropy", "floor_divide", "remainder", "gather", "one_hot"}
# With numbers, a tensor of several elements where one number is meant fails on the way, with one error or another.
FAIL_SOMEWHERE: Final = {"elu", "elu_", "softplus"}


def left_out() -> set[str]:
    return {name for names in LEFT_OUT.values() for name in names.split()}


def operations(room: str) -> dict[str, Any]:
    """Its public functions, but for those that an earlier room has, too."""
    place = list(ROOMS).index(room)
    seen = {id(each) for earlier in list(ROOMS)[:place] for each in _public(earlier).values()}
    return {name: each for name, each in _public(room).items() if id(each) not in seen}


def _public(room: str) -> dict[str, Any]:
    rest, found = left_out(), {}
    for name in dir(ROOMS[room]):
        each = getattr(ROOMS[room], name)
        if not name.startswith("_") and name not in rest and callable(each) and not inspect.isclass(each):
            found[name] = each
    return found


def is_known(name: str, found: str) -> bool:
    """Whether a difference is one of those above."""
    if found == "needs numbers":
        return name in ASK_FOR_NUMBERS | MAY_ASK
    is_an_error = "Error(" in found.partition(" in place of ")[2] or "Exception(" in found
    return is_an_error and name in REFUSE_VALUES | FAIL_SOMEWHERE
