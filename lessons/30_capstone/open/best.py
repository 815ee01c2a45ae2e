"""Our best answer: a model of time and memory, and of all layouts the fastest that fits.

Seconds are those of computing, of messages that nothing hides, and of the pipeline's bubble. All that FSDP gathers
counts, and half of what it sums. Memory is that of parameters, and of what is kept for backward.
"""

from itertools import product

KEPT = {"none": 32, "op": 14, "full": 2}  # bytes a token and number of the width, in a layer
AGAIN = {"none": 0, "op": 0.12, "full": 0.33}
MARGIN = 1.05


def layout(task):
    plans = [plan for plan in every(task) if memory(task, **plan) * MARGIN < task.memory]
    return min(plans, key=lambda plan: seconds(task, **plan))


def every(task):
    powers = (1, 2, 4, 8)
    for fsdp, tp, pp, cp, micro in product(powers, repeat=5):
        data, has_few = fsdp // cp, task.batch < task.gpus
        if (
            tp * cp > 1 and not has_few
        ):  # neither is worth its messages while each rank has sequences of its own
            continue
        if (
            fsdp * tp * pp != task.gpus
            or fsdp % cp
            or pp > task.layers
            or task.batch % (data * micro)
        ):
            continue
        for checkpoint in KEPT:
            for keep in (True,) if pp > 1 else (False, True):
                sizes = {"fsdp": fsdp, "tp": tp, "pp": pp, "cp": cp, "micro": micro}
                yield {**sizes, "checkpoint": checkpoint, "keep": keep}


def memory(task, fsdp, tp, pp, cp, micro, checkpoint, keep):
    """Bytes of the fullest GPU."""
    table = task.words * task.width
    own = (task.layers / pp * task.layer + table * (1 if pp > 1 else 2)) / tp
    whole = 2 * (own if keep or pp > 1 else (2 * task.layer + table) / tp)
    summed = 4 * own if pp > 1 else 2 * whole
    tokens = micro * task.sequence / cp
    rounds = task.batch * cp / (fsdp * micro)
    kept = (
        tokens
        * task.layers
        / pp
        * task.width
        * KEPT[checkpoint]
        / tp
        * (min(pp, rounds) if pp > 1 else 1)
    )
    logits = 14 * tokens * task.words / tp / pp  # they are gone before most gradients are there
    return 16 * own / fsdp + whole + kept + max(summed, logits)


def seconds(task, fsdp, tp, pp, cp, micro, checkpoint, keep):
    """Of a step."""
    rounds = task.batch * cp / (fsdp * micro)
    tokens = micro * task.sequence / cp
    layers = task.layers / pp
    attention = task.sequence * task.width
    computing = 6 * (task.layer + attention) * tokens / tp / task.peak
    computing += 60 * tokens * (task.width + task.ffn / 2) / tp / task.bandwidth
    each = layers * computing * (1 + AGAIN[checkpoint])
    each += 6 * task.words * task.width * tokens / tp / task.peak
    activation = 2 * tokens * task.width

    def link(stride, ranks):
        return task.inside if stride * ranks <= task.node else task.outside

    if tp > 1:
        each += layers * 8 * activation * (tp - 1) / tp / link(1, tp)
    if cp > 1:
        each += layers * 6 * activation / tp * (cp - 1) / link(tp, cp)
    if pp > 1:
        each += 2 * activation / tp / link(fsdp * tp, pp)
    own = layers * task.layer / tp
    gathers = 1 if keep or pp > 1 else 2
    sent = own * (fsdp - 1) / fsdp * (2 * gathers * (1 if pp > 1 else rounds) + 2) / link(tp, fsdp)
    if pp > 1:
        sent *= 1.5 * pp  # nothing hides the sums, and one stage waits for the other
        each *= 1.1  # stages are not quite equal: the last one has the logits
    return each * (rounds + pp - 1) + sent + 28 * own / fsdp / task.bandwidth
