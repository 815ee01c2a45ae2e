"""The common results of seven worlds, judged, and as a page that opens from the disk.

found = worlds.live(setting)
judged = judge(found)                  one Line for each world; `judged.complaints` in words
page(setting, judged, proof)           certificate.html: nothing in it is loaded from anywhere

With a `stack_proof` the page begins with the learner's own stack.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from minitorch_dist.distributed import journal
from minitorch_dist.distributed.journal import Journal
from minitorch_dist.inventory.release import __version__
from mtd.course import timelines
from mtd.course.stack_proof import StackProof
from mtd.course.worlds import ALONE, JOURNALS, SIMULATOR, TORCH, Lived, TrainingSetup

TERMS = 4096  # at most so many numbers are added up in a loss
UNIT = 2.0**-53
TEMPLATE = Path(__file__).with_name("certificate.html")
GAMMA = TERMS * UNIT / (1 - TERMS * UNIT)  # the bound of lesson 16: of Σ|x|, and here all x are ≥ 0


@dataclass
class CertificateLine:
    """A world, and what is the same in it."""

    lived: Lived
    weights: str = ""  # SHA-256
    order: str = ""  # of its journal, as a partial order
    complaints: list[str] = field(default_factory=list)

    @property
    def is_met(self) -> bool:
        return not self.complaints


@dataclass
class Judged:
    lines: list[CertificateLine]

    @property
    def complaints(self) -> list[str]:
        return [f"{line.lived.name}: {text}" for line in self.lines for text in line.complaints]

    @property
    def is_met(self) -> bool:
        return not self.complaints


def judge(found: Sequence[Lived]) -> Judged:
    """Weights and losses against those of one rank alone; journals against the simulator's."""
    by_name = {lived.name: lived for lived in found}
    golden, first = by_name.get(ALONE, found[0]), by_name.get(SIMULATOR)
    lines = []
    for lived in found:
        line = CertificateLine(lived)
        lines.append(line)
        if lived.skipped:
            continue
        line.weights = digest_of(lived.weights)
        if not lived.is_agreed:
            line.complaints.append("its ranks end with different weights")
        line.complaints += _unlike(golden, lived)
        if lived.journal is not None and lived.name in JOURNALS:
            line.order = order_of(lived.journal)
            if first is not None and first.journal is not None and lived is not first:
                parting = journal.diff(first.journal, lived.journal)
                if parting is not None:
                    line.complaints.append(f"its journal is another than the simulator's; {parting}")
                if lived.bytes_sent != first.bytes_sent:
                    line.complaints.append(
                        f"its ranks sent {lived.bytes_sent} bytes, in the simulator {first.bytes_sent}"
                    )
    return Judged(lines)


def _unlike(golden: Lived, lived: Lived) -> list[str]:
    if lived.name == TORCH:  # other code, which may add in another order
        for step, (a, b) in enumerate(zip(golden.losses, lived.losses, strict=False)):
            if abs(a - b) > GAMMA * abs(a):
                return [
                    f"after step {step + 1} its loss is {b!r}, alone it is {a!r}: that is more than rounding, which is "
                    f"at most {GAMMA:.1e} of it"
                ]
        return []
    begins = len(golden.losses) - len(lived.losses)  # after a death: the last life
    for step, (a, b) in enumerate(zip(golden.losses[begins:], lived.losses, strict=True)):
        if a != b:
            return [f"after step {begins + step + 1} its loss is {b!r}, and {a!r} alone"]
    for at, (a, b) in enumerate(zip(golden.weights, lived.weights, strict=False)):
        if a != b:
            return [f"weight {at} is {b}, and {a} alone"]
    if len(lived.weights) != len(golden.weights):
        return [f"it has {len(lived.weights)} weights, and alone there are {len(golden.weights)}"]
    return []


def digest_of(values: Any) -> str:
    """Of floats as lesson 04's train.py does it, so that the two can be compared; of anything else as text."""
    if isinstance(values, list) and all(type(one) is float for one in values):
        return hashlib.sha256(np.array(values, "<f8").tobytes()).hexdigest()
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def order_of(run: Journal) -> str:
    """A number for its partial order: what each lane did, without any times."""
    order = run.order
    content = [
        (lane, [repr(order.events[number].content) for number in numbers])
        for lane, numbers in sorted(order.lanes.items())
    ]
    return hashlib.sha256(repr(content).encode()).hexdigest()


# ------------------------------------------------------------------------------------------- the page


def facts(setting: TrainingSetup, judged: Judged, proof: StackProof | None = None) -> dict[str, Any]:
    """All that the certificate says, so that another one can be compared with it."""
    return {
        "stack": proof.facts() if proof is not None else None,
        "script": setting.script.name,
        "script_sha256": hashlib.sha256(setting.script.read_bytes()).hexdigest(),
        "arguments": list(setting.arguments),
        "ranks": setting.ranks,
        "seed": setting.seed,
        "memory": setting.memory,
        "parts": dict(setting.parts),
        "minitorch_dist": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": _torch(),
        "worlds": [
            {
                "name": line.lived.name,
                "ranks": line.lived.ranks,
                "skipped": line.lived.skipped,
                "weights": line.weights,
                "order": line.order,
                "bytes": line.lived.bytes_sent if line.lived.journal is not None else [],
                "loss": line.lived.losses[-1] if line.lived.losses else None,
                "story": line.lived.story,
                "complaints": line.complaints,
            }
            for line in judged.lines
        ],
    }


def _torch() -> str:
    try:
        return version("torch")
    except PackageNotFoundError:
        return ""


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven")
SAID = {
    "alone": "one rank, and nothing around it",
    "simulator": "ranks in virtual time",
    "tcp": "processes, sockets",
    "file": "processes, a shared file",
    "mqtt": "processes, a broker",
    "faults": "virtual time; loss, duplicates, a straggler, a death",
    "torch": "the real one: only the imports were changed",
}
SAME = " Only the times differ. The messages, their receivers and their order are the same."


def page(setting: TrainingSetup, judged: Judged, proof: StackProof | None = None) -> str:
    said = facts(setting, judged, proof)
    seal = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    lived = [line for line in judged.lines if not line.lived.skipped]
    digests = {line.weights for line in lived if line.lived.name != TORCH}
    if judged.is_met and len(digests) == 1:
        verdict = f"The same {len(lived[0].lived.weights)} weights in {many(len(lived), 'world')}, bit for bit."
    else:
        verdict = "These worlds differ."
    rows = "".join(map(_row, judged.lines))
    words = " ".join([setting.script.name, *setting.arguments])
    torch = f", torch {said['torch']}" if said["torch"] else ""
    return TEMPLATE.read_text("utf-8").format(
        title=f"One script, {NUMBERS[len(judged.lines)]} world{'s' * (len(judged.lines) > 1)}",
        verdict=escape(verdict),
        words=escape(words),
        ranks=many(setting.ranks, "rank"),
        tone="met" if judged.is_met else "unmet",
        rows=rows,
        picture=timelines.draw([line.lived for line in judged.lines]),
        parts=_parts(setting),
        script=said["script_sha256"],
        seed=setting.seed,
        seal=seal,
        software=escape(f"minitorch_dist {__version__}, Python {said['python']}, numpy {said['numpy']}{torch}"),
        stack=_stack(proof) if proof is not None else "",
        same=SAME if judged.is_met else "",
        machine=json.dumps(said, ensure_ascii=False).replace("<", "\\u003c"),
    )


def _stack(proof: StackProof) -> str:
    """The learner's own stack: whose lessons are in it, and its training over each wire."""
    yours, ours = (", ".join(proof.lessons(whose)) or "none" for whose in ("yours", "ours"))
    rows = "".join(
        f"<tr><th scope=row>{run.wire}</th>"
        + (
            f"<td class=bad>✘</td><td colspan=2>{escape(run.complaint)}</td>"
            if run.complaint
            else f"<td class=good>✔</td><td><code>{run.weights}</code></td>"
            f"<td>{'a rank was killed, and came back' if run.is_killed else ''}</td>"
        )
        + "</tr>"
        for run in proof.runs
    )
    lines = sum(part.lines for part in proof.parts)
    return (
        f'<h1>Your stack</h1><div class="verdict {"met" if proof.is_met else "unmet"}">{escape(proof.sentence)}</div>'
        f"<p>{many(proof.ranks, 'rank')}, {lines} lines in the modules of the lessons, and {proof.face_lines} given ones</p>"
        f"<p>lessons of yours: {yours}</p><p>lessons of ours: {ours}</p>"
        f"<div class=wide><table><thead><tr><th>wire</th><th></th><th>weights</th><th></th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(line: CertificateLine) -> str:
    lived = line.lived
    name = f"<th scope=row>{lived.name}<small>{SAID[lived.name]}</small></th>"
    if lived.skipped:
        return f"<tr class=skipped>{name}<td colspan=5>not tried: {escape(lived.skipped)}</td></tr>"
    sign = "<td class=good>✔</td>" if line.is_met else "<td class=bad>✘</td>"
    story = "".join(f"<li>{escape(text)}</li>" for text in [*line.complaints, *lived.story])
    more = f"<tr class=more><td colspan=6><ul>{story}</ul></td></tr>" if story else ""
    sent = f"{sum(lived.bytes_sent):,}".replace(",", " ") if lived.journal is not None else "–"
    loss = f"{lived.losses[-1]:.6f}" if lived.losses else "–"
    return (
        f"<tr>{name}{sign}<td>{lived.ranks}</td><td>{loss}</td>"
        f"<td><code>{line.weights[:16]}</code></td><td>{sent}<small><code>{line.order[:16]}</code></small></td></tr>{more}"
    )


def _parts(setting: TrainingSetup) -> str:
    """Whose code did which part; nothing where the script does not say it."""
    lines = "".join(f"<dt>{escape(part)}</dt><dd>{escape(who)}</dd>" for part, who in setting.parts)
    note = "<p>In the world torch, PyTorch does all parts.</p>"
    return f"<h2>Whose code it was</h2><dl class=parts>{lines}</dl>{note}" if lines else ""


def many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
