"""Our best answer: try many cuts; for each, let a list of ready actions decide what a rank does next.

A rank takes the action that can begin first. Of those that begin at once: the gradient that another stage waits for,
then a forward, and last the weights' gradient, for which nobody waits.
"""

from itertools import accumulate, combinations

from minitorch_dist.distributed.pipelining.orders import Action, F, I, W

TRIED = 16  # cuts for each way of placing stages


def pipeline(task):
    best = None
    for homes in placements(task):
        for stages in cuts(task, homes):
            for patience in (0, 1, 2):
                found = scheduled(task, stages, patience)
                if found is not None and (best is None or found[0] < best[0]):
                    best = (*found, stages)
    return best[2], best[1]


def placements(task):
    """Which rank each stage is on: once round the ranks, twice round, or down and up again."""
    down = list(range(task.ranks))
    yield down
    yield down + down
    yield down + down[::-1]


def cuts(task, homes):
    """Those whose busiest rank has least to do."""
    count, found = len(task.forward), []
    for inner in combinations(range(1, count), len(homes) - 1):
        ends = [0, *inner, count]
        loads = [0] * task.ranks
        for rank, begin, end in zip(homes, ends, ends[1:]):
            loads[rank] += sum(task.forward[begin:end])
        stages = [(rank, b - a) for rank, a, b in zip(homes, ends, ends[1:])]
        found.append((max(loads), stages))
    return [stages for _, stages in sorted(found)[:TRIED]]


def scheduled(task, stages, patience):
    """The time and each rank's actions; None if memory leads to a dead end. W may wait `patience` ms for others."""
    ends = [0, *accumulate(count for _, count in stages)]
    work = [sum(task.forward[a:b]) for a, b in zip(ends, ends[1:])]
    size = [sum(task.megabytes[a:b]) for a, b in zip(ends, ends[1:])]
    last = len(stages) - 1
    free, held = [0] * task.ranks, [0] * task.ranks
    made = [[] for _ in range(task.ranks)]
    following = [[0, 0, 0] for _ in stages]  # the next micro-batch of F, I, W on each stage
    done = {}

    def ready(stage, kind, number):
        """When its inputs are there; None if they are not under way."""
        if kind is F:
            return done.get((stage - 1, F, number)) if stage else 0
        if kind is W:
            return done.get((stage, I, number))
        own = done.get((stage, F, number))
        behind = done.get((stage + 1, I, number)) if stage < last else own
        return None if own is None or behind is None else max(own, behind)

    for _ in range(3 * len(stages) * task.microbatches):
        best = None
        for stage, (rank, _) in enumerate(stages):
            for which, kind in enumerate((F, I, W)):
                number = following[stage][which]
                if number == task.microbatches:
                    continue
                if kind is F and held[rank] + size[stage] > task.cap:
                    continue
                there = ready(stage, kind, number)
                if there is None:
                    continue
                begin = max(free[rank], there)
                key = (begin + (patience if kind is W else 0), (1, 0, 2)[which], -stage, begin)
                if best is None or key < best[0]:
                    best = key, stage, rank, which, kind, number
        if best is None:
            return None
        (_, _, _, begin), stage, rank, which, kind, number = best
        following[stage][which] += 1
        free[rank] = done[stage, kind, number] = begin + work[stage]
        held[rank] += (size[stage], 0, -size[stage])[which]
        made[rank].append(Action(stage, kind, number))
    return max(free), made
