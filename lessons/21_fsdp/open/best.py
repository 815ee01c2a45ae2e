"""Our best answer: change one layer at a time as long as it gets faster, by a model of time and memory.

The model takes one message after another, and fetches parameters one layer ahead. Of memory it counts what is divided,
what is kept for backward, and what one layer needs for a moment.
"""

from itertools import product

KINDS = ("NO_SHARD", "SHARD_GRAD_OP", "FULL_SHARD")
MARGIN = 1.015
CHOICES = tuple(product(KINDS, (False, True)))


def wrapping(task):
    found = [climbed(task, [choice] * len(task.ms)) for choice in CHOICES]
    plan = min((plan for plan in found if fits(task, plan)), key=lambda plan: time(task, plan))
    return [(1, kind, again) for kind, again in plan]


def climbed(task, plan):
    """As long as another choice for one or two layers is better."""

    def key(plan):
        return max(memory(task, plan) * MARGIN - task.cap, 0), time(task, plan)

    best, is_better = key(plan), True
    while is_better:
        is_better = False
        for other in neighbours(plan):
            now = key(other)
            if now < best:
                plan, best, is_better = other, now, True
    return plan


def neighbours(plan):
    count = len(plan)
    for layer, choice in product(range(count), CHOICES):
        yield [*plan[:layer], choice, *plan[layer + 1 :]]
    for one, other in product(range(count), repeat=2):
        swapped = [*plan]
        swapped[one], swapped[other] = plan[other], plan[one]
        yield swapped


def fits(task, plan):
    return memory(task, plan) * MARGIN <= task.cap


def memory(task, plan):
    """The most bytes at once, while one layer goes backward."""
    sizes, kinds = task.parameters, [kind for kind, _ in plan]
    parts = [size if kind == "NO_SHARD" else size / task.ranks for size, kind in zip(sizes, kinds)]
    whole = [0 if kind == "NO_SHARD" else size for size, kind in zip(sizes, kinds)]
    most = kept = gathered = 0
    gradients = sum(parts)
    for layer, (kind, again) in enumerate(plan):
        gradients -= parts[layer]  # those of later layers are there already
        held = kept + gradients + gathered + 2 * task.activations[layer]
        held += whole[layer] + 2 * sizes[layer] + task.input  # its parameters, gradient, output
        if layer and kinds[layer - 1] == "FULL_SHARD":
            held += whole[layer - 1]  # fetched ahead
        most = max(most, held)
        kept += task.input if again else task.activations[layer]
        gathered += whole[layer] if kind == "SHARD_GRAD_OP" else 0
    return 3 * sum(parts) + most


def time(task, plan):
    """Milliseconds of a step."""
    now = network = before = 0.0
    share = (task.ranks - 1) / task.ranks

    def travels(size, since):
        return max(network, since) + (task.ranks - 1) * task.latency + share * size * task.per_byte

    for size, ms, (kind, _) in zip(task.parameters, task.ms, plan):
        if kind != "NO_SHARD":
            network = travels(size, before)
            now = max(now, network)
        before, now = now, now + ms
    for size, ms, (kind, again) in reversed(list(zip(task.parameters, task.ms, plan))):
        if kind == "FULL_SHARD":
            network = travels(size, before)
            now = max(now, network)
        before, now = now, now + (3 if again else 2) * ms
        network = travels(size * (2 if kind == "NO_SHARD" else 1), now)
    return max(now, network)
