"""Lesson 04: an optimizer that takes the recorded course, bit for bit."""

import importlib.util
import json
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import golden
import numpy as np
from hypothesis import given, strategies as st

import minitorch_dist as torch
from minitorch_dist import cuda, optim
from minitorch_dist.optim import SGD
from minitorch_dist.testing import exact
from mtd.cli import plots
from mtd.course import MeasuredCost, lab, lamp

HERE = Path(__file__).parent
RECORD = HERE / "golden.json"
EVERY = 20  # steps between two recorded sets of weights


def script():
    """train.py, as a module."""
    spec = importlib.util.spec_from_file_location("lesson_04_train", HERE / "train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(optimizer, *arguments):
    """The script with this class for `optim.SGD`: losses and weights after each step."""
    with patch.object(optim, "SGD", optimizer), redirect_stdout(StringIO()):
        return script().main(list(arguments))


# ------------------------------------------------------------------------------- one number


@lamp("correct")
def right():
    """One number on paper, then any options: the same as the library's, step by step."""
    for options, grads, wanted in [
        ({"lr": 0.5}, (1, 1), (3.5, 3.0)),
        ({"lr": 0.5, "momentum": 0.5}, (1, 1, 1), (3.5, 2.75, 1.875)),
        ({"lr": 0.5, "momentum": 0.5}, (2, 0, 0), (3.0, 2.5, 2.25)),
        ({"lr": 0.5, "momentum": 0.5, "dampening": 0.5}, (1, 1), (3.5, 3.0)),
    ]:
        found = course(golden.SGD, 4.0, [(grad, options["lr"]) for grad in grads], options)
        still = ". p itself did not change: write into it, in place" if {*found} == {4.0} else ""
        assert found == list(wanted), (
            f"p = 4, gradients {grads}, {said(options)}: p is {found} after each step, expected {list(wanted)}{still}"
        )
    each_has_its_own()
    any_options()


def each_has_its_own():
    """Two parameters, pushed in different ways."""
    p, q = (torch.tensor([4.0], dtype=torch.float64, requires_grad=True) for _ in range(2))
    made = golden.SGD([p, q], lr=0.5, momentum=0.5)
    for _ in range(2):
        p.grad, q.grad = torch.tensor([1.0]).double(), torch.tensor([0.0]).double()
        made.step()
    assert q.item() == 4, (
        f"two parameters: q has gradients of 0, and moves from 4 to {q.item()}. Each has a velocity of its own, in its `state`"
    )
    assert p.item() == 2.75, f"two parameters: p is {p.item()}, expected 2.75"


def course(optimizer, start, given, options):
    """Where a parameter is after each step, given its gradients, and the rate that then holds."""
    p = torch.tensor([start], dtype=torch.float64, requires_grad=True)
    made, places = optimizer([p], **options), []
    for grad, lr in given:
        p.grad = torch.tensor([float(grad)], dtype=torch.float64)
        made.param_groups[0]["lr"] = lr
        made.step()
        assert p.grad.item() == grad, (
            f"{said(options)}: a step changed p.grad from {grad} to {p.grad.item()}"
        )
        places.append(p.item())
    return places


def said(options):
    return "SGD(" + ", ".join(f"{name}={value}" for name, value in options.items()) + ")"


@st.composite
def settings(draw):
    """Options and gradients, all of them halves and quarters, so that nothing rounds; the rate may change."""
    options = {
        "lr": 0.5,
        "momentum": draw(st.sampled_from([0, 0.5, 0.75])),
        "dampening": draw(st.sampled_from([0, 0.5])),
        "weight_decay": draw(st.sampled_from([0, 0.25])),
        "maximize": draw(st.booleans()),
    }
    options["nesterov"] = bool(
        options["momentum"] and not options["dampening"] and draw(st.booleans())
    )
    pairs = st.tuples(st.integers(-3, 3), st.sampled_from([0.5, 0.25]))
    return options, draw(st.lists(pairs, min_size=1, max_size=4))


@lab.learn
@given(settings())
def any_options(drawn):
    options, given = drawn
    found, wanted = course(golden.SGD, 4.0, given, options), course(SGD, 4.0, given, options)
    steps = ", ".join(f"gradient {grad} with lr {lr}" for grad, lr in given)
    assert found == wanted, f"{said(options)}, p = 4, {steps}: p is {found}, expected {wanted}"


# ------------------------------------------------------------------------------- the script


@lamp("golden")
def same_course():
    """All losses and weights of train.py are those that were recorded; and nothing was rounded."""
    record, widest = json.loads(RECORD.read_text()), [0]

    class Watched(golden.SGD):
        def step(self, closure=None):
            widest[0] = max(widest[0], exact.bits(self.param_groups[0]["params"]))
            return super().step(closure)

    losses, weights = run(Watched)
    for step, (found, wanted) in enumerate(zip(losses, record["losses"]), 1):
        assert found == wanted, (
            f"train.py, step {step}: the loss is {found!r}, recorded was {wanted!r}"
        )
    assert len(losses) == len(record["losses"]), f"{len(losses)} steps, recorded were 160"
    for step, recorded in zip(range(EVERY, len(losses) + 1, EVERY), record["weights"]):
        pairs = zip(weights[step - 1], recorded, strict=True)
        unlike = [f"{at} is {a!r}, recorded was {b!r}" for at, (a, b) in enumerate(pairs) if a != b]
        assert not unlike, (
            f"train.py, step {step}: the losses are those recorded, and {len(unlike)} of {len(recorded)} weights are "
            f"not: weight {unlike[0]}. A layer computes with rounded weights; here all their digits count"
        )
    assert widest[0] <= 53, f"a gradient needs {widest[0]} bits, float64 has 53"


@lamp("resumed", star=2)
def resumed():
    """Stopped after 12 steps, started again from its checkpoint: the same course."""
    with tempfile.TemporaryDirectory() as folder:
        saved = ["--every", "4", "--checkpoint", str(Path(folder) / "run.pt")]
        whole = run(golden.SGD, "--steps", "20")[0]
        begun = run(golden.SGD, "--steps", "12", *saved)[0]
        rest = run(golden.SGD, "--steps", "20", *saved)[0]
    for step, (found, wanted) in enumerate(zip(begun + rest, whole), 1):
        assert found == wanted, (
            f"train.py was stopped after step 12 and went on from its checkpoint: at step {step} the loss is "
            f"{found!r}, without a stop {wanted!r}. Is the velocity in state, where state_dict() finds it?"
        )


@lamp("micro-batches", star=2)
def micro_batches():
    """37 samples at once, or in 2, 3, 5, 37 parts whose gradients are added up: as the library's in one."""
    wanted = after_five_steps(SGD, 1)
    is_right_with_new_grads = exact.same(after_five_steps(golden.SGD, 1, to_none=True), wanted)
    assert is_right_with_new_grads, (
        "after five steps with 37 samples the weights are not those of the library's SGD: see the lamps above"
    )
    for parts in (1, 2, 3, 5, 37):
        assert exact.same(after_five_steps(golden.SGD, parts), wanted), (
            f"after five steps with 37 samples in {parts} part{'s' * (parts > 1)}, their gradients added up in p.grad, "
            "the weights are not those of the library's SGD. Look at what you keep in state: here "
            "zero_grad(set_to_none=False) writes zeros into p.grad, so a velocity needs memory of its own"
        )


def after_five_steps(optimizer, parts, to_none=False):
    train = script()
    model, (x, y) = train.network(), train.spirals(37)
    made = optimizer(model.parameters(), lr=0.125, momentum=0.875)
    for _ in range(5):
        made.zero_grad(set_to_none=to_none)
        for part in range(parts):
            share = slice(37 * part // parts, 37 * (part + 1) // parts)
            train.loss_of(model, x[share], y[share]).backward()
        made.step()
    return exact.weights(model)


# ------------------------------------------------------------------------------- memory


@lamp("memory")
def memory():
    """Beside the parameters: one velocity each with momentum, nothing without."""
    found = {momentum: bytes_kept(momentum) for momentum in (0, 0.5)}
    assert found[0] == 0, f"without momentum nothing needs to be kept, yours keeps {found[0]} bytes"
    return MeasuredCost(
        found[0.5], 8000, unit=" bytes", where="1000 parameters of 8 bytes, 5 steps with momentum"
    )


def bytes_kept(momentum):
    """The bytes that live on a simulated device after five steps, beside the parameter itself."""
    with cuda.simulated(1):
        p = torch.zeros(1000, dtype=torch.float64, device="cuda", requires_grad=True)
        before = cuda.memory_allocated()
        optimizer = golden.SGD([p], lr=0.5, momentum=momentum)
        for _ in range(5):
            p.grad = torch.ones(1000, dtype=torch.float64, device="cuda")
            optimizer.step()
            optimizer.zero_grad()
        return cuda.memory_allocated() - before


# ------------------------------------------------------------------------------- questions, picture


def bytes_of_momentum():
    return bytes_kept(0.5)


def place_after_two_steps():
    return course(golden.SGD, 4.0, [(1, 0.5), (1, 0.5)], {"lr": 0.5, "momentum": 0.5})[-1]


def picture():
    """The loss, step by step, and where the network says + and where -; @ and o are the samples."""
    train = script()
    with patch.object(optim, "SGD", golden.SGD), redirect_stdout(StringIO()):
        losses, weights = train.main([])
    model = train.network()
    with torch.no_grad():
        numbers = iter(weights[-1])
        for p in model.parameters():
            p.copy_(torch.tensor([next(numbers) for _ in range(p.numel())]).reshape(p.shape))
    lines = [*plots.curve(losses, label="loss of 160 steps", width=72, height=8), ""]
    return "\n".join(line.rstrip() for line in [*lines, *boundary(train, model)])


def boundary(train, model, rows=17, columns=51):
    across, down = np.linspace(-1.1, 1.1, columns), np.linspace(1.1, -1.1, rows)
    grid = torch.from_numpy(np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2))
    with torch.no_grad():
        said = model(grid).reshape(rows, columns).tolist()
    cells = [["+" if value > 0 else "·" for value in row] for row in said]
    x, y = train.spirals()
    for (right, up), (arm,) in zip(x.tolist(), y.tolist()):
        cells[np.abs(down - up).argmin()][np.abs(across - right).argmin()] = "@" if arm > 0 else "o"
    return [
        "@ lies on one spiral, o on the other; the network says + or ·",
        *("  " + "".join(row) for row in cells),
    ]


if __name__ == "__main__":  # record the course anew, with the library's own SGD
    losses, weights = run(SGD)
    record = {"losses": losses, "weights": weights[EVERY - 1 :: EVERY]}
    text = json.dumps(record).replace('"weights"', '\n"weights"').replace("], [", "],\n[")
    RECORD.write_text(text + "\n")
