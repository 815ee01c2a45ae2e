"""Three answers to lesson 31 that are written in other ways than ours, each with all its blanks, light all lamps.

They take other ways through the same products. The lamp *real wire* is left out here, because it takes longest.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from mtd.course import checking, lesson
from mtd.course.lamps import asked_by
from mtd.course.path import LessonAnswer

SPLIT_FIRST = {
    1: """\
    each, rest = divmod(length, size)
    if rest:
        raise ValueError(f"{size} ranks cannot have equally many of {length} {of_what}")
    return slice(each * rank, each * rank + each)
""",
    2: """\
        here = part(whole.weight.shape[0], "columns")
        self.weight = nn.Parameter(torch.stack([*whole.weight.detach()[here]]))
        self.bias = nn.Parameter(torch.stack([*whole.bias.detach()[here]]))
""",
    3: """\
        turned = whole.weight.detach().T
        self.weight = nn.Parameter(turned[part(len(turned), "rows")].T.clone())
""",
    4: "        total = grad + 0\n        dist.all_reduce(total)\n        return total\n",
    5: "        total = summand * 1\n        dist.all_reduce(total)\n        return total\n",
    6: "        return grad.clone()\n",
    7: """\
    parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, mine.contiguous())
    return torch.cat(parts)
""",
    8: """\
    rank, each = dist.get_rank(), part(len(summand), "rows")
    length = each.stop - each.start
    pieces = [summand[k * length : (k + 1) * length].contiguous() for k in range(dist.get_world_size())]
    mine = torch.empty_like(pieces[rank])
    dist.reduce_scatter(mine, pieces)
    return mine
""",
    9: "        return all_rows(mine)\n",
    10: "        return sum_of_my_rows(grad)\n",
    11: "        return sum_of_my_rows(summand)\n",
    12: "        return all_rows(grad)\n",
    13: "        return Enter.apply(p) if self.in_rows else p\n",
    14: """\
        hidden = nn.functional.relu(self.first(self.enter(x)))
        return self.leave(self.second(hidden)) + self.shared(self.second.bias)
""",
    15: '        mine = part(heads, "heads")\n        self.heads = len(range(mine.start, mine.stop))\n',
    16: """\
        whole = self.enter(x)
        columns = []
        every = [heads_of(layer(whole), self.heads) for layer in (self.query, self.key, self.value)]
        for q, k, v in zip(*every):
            columns.append(self.weigh(q @ k.T) @ v)
        return self.leave(self.output(torch.cat(columns, 1))) + self.shared(self.output.bias)
""",
}
GATHER_FIRST = SPLIT_FIRST | {
    1: """\
    ends = [length * k // size for k in range(size + 1)]
    if any(b - a != ends[1] for a, b in zip(ends, ends[1:])):
        raise ValueError(f"{length} {of_what}, {size} ranks: the parts would not be equal")
    return slice(ends[rank], ends[rank + 1])
""",
    4: """\
        rows = torch.zeros_like(grad)
        rows.add_(grad)
        dist.all_reduce(rows, async_op=True).wait()
        return rows
""",
    6: "        return grad.view_as(grad)\n",
    7: """\
    whole = mine.new_zeros((dist.get_world_size() * mine.shape[0], *mine.shape[1:]))
    dist.all_gather_into_tensor(whole, mine.contiguous(), async_op=True).wait()
    return whole
""",
    8: """\
    part(summand.shape[0], "rows of what is summed")
    came = torch.empty_like(summand)
    dist.all_to_all_single(came, summand.contiguous())
    return came.view(dist.get_world_size(), -1, *summand.shape[1:]).sum(0)
""",
    14: """\
        gathered = self.enter(x)
        bias = self.shared(self.second.bias)
        return bias + self.leave(self.second(torch.relu(self.first(gathered))))
""",
}
HEADS_AS_AN_AXIS = GATHER_FIRST | {
    2: """\
        mine = part(len(whole.bias), "columns")
        for name in ("weight", "bias"):
            setattr(self, name, nn.Parameter(getattr(whole, name).detach()[mine].clone()))
""",
    13: "        return p if not self.in_rows else Enter.apply(p)\n",
    15: """\
        mine = range(heads)[part(heads, "heads")]
        self.heads = len(mine)
""",
    16: """\
        gathered = self.enter(x)

        def by_head(layer):
            columns = layer(gathered)
            return columns.view(len(columns), self.heads, -1).transpose(0, 1).unbind(0)

        every = zip(by_head(self.query), by_head(self.key), by_head(self.value))
        attended = torch.stack([self.weigh(q @ k.T) @ v for q, k, v in every], 1)
        summand = self.output(attended.reshape(len(gathered), -1))
        return self.leave(summand) + self.shared(self.output.bias)
""",
}

ANSWERS = {"split first": SPLIT_FIRST, "gather first": GATHER_FIRST, "heads as an axis": HEADS_AS_AN_AXIS}
MASKED = """\
        hidden = self.first(self.enter(x))
        hidden = hidden * (hidden > 0)
        return self.leave(self.second(hidden)) + self.shared(self.second.bias)
"""


def judged(answer: dict[int, str], folder: Path) -> dict[str, bool | None]:
    """The lamps that start no processes."""
    one = lesson.find(31)
    lines = {k: tuple(textwrap.dedent(text).rstrip().split("\n")) for k, text in answer.items()}
    (folder / one.file).write_text(one.source.filled(lines), encoding="utf-8")
    with LessonAnswer(one, folder).searched():
        asked = asked_by(checking.load(one))
    names = {name for each in asked if not each.has_processes for name in each.lamps}
    return {
        name: on for name, on in checking.check(LessonAnswer(one, folder), only=names).lamps.items() if name in names
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["split first", "heads as an axis", pytest.param("gather first", marks=pytest.mark.deep)]
)
def test_another_answer_lights_all_lamps(name: str, tmp_path: Path) -> None:
    assert set(ANSWERS[name]) == {blank.number for blank in lesson.find(31).source.blanks}
    lamps = judged(ANSWERS[name], tmp_path)
    assert len(lamps) == 12 and all(lamps.values()), lamps


@pytest.mark.slow
@pytest.mark.deep
def test_a_mask_in_the_place_of_relu_is_right_and_keeps_more(tmp_path: Path) -> None:
    """The product keeps what went in and the mask besides, so the lamp of the activations is out, and no other."""
    lamps = judged({**SPLIT_FIRST, 14: MASKED}, tmp_path)
    assert [name for name, on in lamps.items() if not on] == ["activations"]
