"""Lesson 30: the same weights in seven worlds; and a property and a mutant that are worth having."""

import functools
import inspect
import tempfile
from pathlib import Path

import capstone

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.optim import SGD
from minitorch_dist.testing import check_same_as_one_rank, exact
from minitorch_dist.testing.strictness import strict
from mtd.course import Skipped, certificate, lamp, lesson, timelines, worlds
from mtd.course.property_trial import accepts, named, survivors

SCRIPT = lesson.find(4).folder / "train.py"
STEPS, SIZES = 24, (1, 3, 5)


@functools.cache
def lived(name, steps=STEPS, ranks=3):
    """The results of the script in this world."""
    with tempfile.TemporaryDirectory() as folder:
        setting = worlds.TrainingSetup(SCRIPT, ("--steps", str(steps)), ranks, Path(folder))
        (found,) = worlds.live(setting, [name])
    return found


def judge(*names, ranks=3):
    judged = certificate.judge([lived(name, ranks=ranks) for name in names])
    assert judged.is_met, f"{ranks} ranks:\n    " + "\n    ".join(judged.complaints)


@lamp("correct")
def right():
    """1, 3 and 5 ranks: alone, in the simulator, and there with loss, duplicates, a straggler and a death: the same weights."""
    for ranks in SIZES:
        judge("alone", "simulator", "faults", ranks=ranks)


@lamp("real wires", star=1)
def wires():
    """3 ranks over TCP, a file and MQTT, 1 and 5 over TCP: the same weights, the same partial order as in the simulator, the same bytes."""
    judge("alone", "simulator", "tcp", "file", "mqtt")
    for ranks in (1, 5):
        judge("alone", "simulator", "tcp", ranks=ranks)


@lamp("torch", bonus=True)
def under_torch():
    """With the imports changed, and nothing else: losses within the bound of lesson 16."""
    found = lived("torch")
    if found.skipped:
        return Skipped(found.skipped)
    judge("alone", "torch")
    return None


# ----------------------------------------------------------------------- a property, and a mutant


@lamp("accepts right ones", star=2)
def accepted():
    """All these versions pass your property: they are right, each in its own way."""
    accepts(capstone.property_of_mine, (one_by_one, at_once, from_the_last, gathered))


@lamp("new", star=2)
def new():
    """Your mutant passes all checks that you know."""
    try:
        ours(capstone.mutant_of_mine)
    except Exception as error:
        raise AssertionError(
            f"your mutant is caught without your property: {type(error).__name__}: {error}"
        ) from error


@lamp("rejects wrong ones", star=3)
def rejected():
    """Your property catches your mutant."""
    yours = named(capstone.mutant_of_mine, "mutant_of_mine", "yours")
    alive, crashed = survivors(capstone.property_of_mine, (yours,))
    assert not alive, (
        "your property passes for mutant_of_mine. Is that wrong at all? If it is, let your property draw a case that "
        "shows it"
    )
    assert not crashed, (
        "your property crashes, and a crash is not a failing assert. First compare the whole result, then use its "
        f"parts. {crashed[0]}"
    )
    assert compares(capstone.property_of_mine.hypothesis.inner_test), (
        "your mutant hangs, and that ends your property. But the property has no assert: what is true of the gradients?"
    )


def compares(function, known=()):
    """Whether this function, or one of its file that it calls, has an assert."""
    try:
        text = inspect.getsource(function)
    except OSError:  # typed where no source is kept
        return True
    others = [getattr(capstone, name, None) for name in function.__code__.co_names]
    helpers = [one for one in others if inspect.isfunction(one) and one not in known]
    return "assert" in text.lower() or any(compares(one, (*known, function)) for one in helpers)


def ours(average):
    """Exact training on 1 to 9, 13 and 16 ranks, with sends that wait for their receives too; raises if it is wrong."""

    def train(batches):
        model = exact.Model()
        optimizer = SGD(model.parameters(), lr=exact.RATE)
        for batch in batches:
            optimizer.zero_grad()
            (exact.loss(model(batch.x), batch.y) * float(dist.get_world_size())).backward()
            average(list(model.parameters()))
            optimizer.step()
            exact.snap(model.parameters())
        return model

    check_same_as_one_rank(
        train, sizes=(*range(1, 10), 13, 16)
    )  # so a mutant is not a number of ranks
    with strict():
        check_same_as_one_rank(train, sizes=(2, 3))


# ----------------------------------------------------------------------- all of these are right


def one_by_one(parameters):
    """As it is given."""
    capstone.average(parameters)


def at_once(parameters):
    """All gradients in one message."""
    parameters = list(parameters)  # they may come as model.parameters(), which can be read once
    grads = [zeros_if_none(p) for p in parameters]
    whole = torch.cat([grad.reshape(-1) for grad in grads])
    dist.all_reduce(whole)
    whole /= dist.get_world_size()
    at = 0
    for p in parameters:
        p.grad = whole[at : at + p.numel()].reshape(p.shape).clone()
        at += p.numel()


def from_the_last(parameters):
    """All on their way at once, the last one first."""
    works = []
    for p in reversed(list(parameters)):
        p.grad = zeros_if_none(p)
        works.append((p, dist.all_reduce(p.grad, async_op=True)))
    for p, work in works:
        work.wait()
        p.grad /= dist.get_world_size()


def gathered(parameters):
    """Every rank gets everything, and adds it up; a gradient that no rank has stays None."""
    for p in parameters:
        has = torch.tensor([p.grad is not None]).long()
        dist.all_reduce(has)
        if has.item():
            parts = [torch.empty_like(p.detach()) for _ in range(dist.get_world_size())]
            dist.all_gather(parts, zeros_if_none(p))
            p.grad = sum(parts) / dist.get_world_size()


def zeros_if_none(p):
    return torch.zeros_like(p.detach()) if p.grad is None else p.grad


# ----------------------------------------------------------------------- question and picture


def bytes_of_a_step():
    twice, once = (lived("simulator", steps, ranks=2).bytes_sent[1] for steps in (16, 8))
    return (twice - once) / 8


def picture():
    """Three of the seven; `mtd capstone` draws all of them, on a page."""
    return timelines.drawn([lived(name) for name in ("alone", "simulator", "faults")])
