"""`mtd capstone`: one training script in seven worlds, a learner's own stack, and a certificate of both."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from mtd.cli import scripts
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.course import achievements, certificate, finale, lesson, real_bridge, stack_proof, worlds
from mtd.course.real_bridge import RealTraining
from mtd.course.workspace import Workspace, found_or_none
from mtd.pages import whole_files
from mtd.refusals import CannotDo
from transports import keeper

LEGEND = "(order: a fingerprint of what each rank did and which message it got; bytes: sent by all ranks)"
STORIES = (worlds.SIMULATOR, worlds.FAULTS)  # worlds of which more is told


def configure(parser: Parser) -> None:
    parser.takes(f"""
        --ranks RANKS: positive = 3                      in all worlds but the first (%(default)s)
        --seed SEED: int = 0                        of what goes wrong in one of them
        --net|--worlds {{{",".join(worlds.NAMES)}}}: words = {",".join(worlds.NAMES)}  some of these worlds (%(default)s)
        --out OUT: path = certificate.html          the page (%(default)s)
        --finale                                    a small transformer on a mesh of replicas and stages, by your lessons (4 or 6 ranks)
        script?                                     a file with main(arguments) -> (losses, weights); lesson 04's train.py
        arguments...                                what its main is given
    """)
    parser.set_defaults(run=run, epilog="mtd capstone --ranks 4 train.py --steps 40")


def run(options: argparse.Namespace) -> int:
    names = options.net
    if not options.out.resolve().parent.is_dir():
        raise CannotDo(f"there is no folder for {options.out}")
    if options.finale and options.script:
        raise CannotDo("--finale runs 30_capstone/finale.py of your course; change that file, and name no script")
    if options.finale and (fault := finale.fault(options.ranks)):
        raise CannotDo(fault)
    mine = found_or_none()
    script = Path(options.script or lesson.find(4).folder / "train.py").resolve()
    if options.finale:
        script = finale.script_of(mine)
    console = Console(highlight=False)
    try:
        scripts.check(str(script))
        with keeper.temporary_folder("capstone-") as folder:
            setting = worlds.TrainingSetup(script, tuple(options.arguments), options.ranks, Path(folder), options.seed)
            with ExitStack() as stack:
                if options.finale:
                    parts = stack.enter_context(finale.found(mine, script))
                    setting = finale.setup(options.ranks, Path(folder), parts, options.seed, script)
                status = stack.enter_context(console.status(""))
                found = worlds.live(setting, names, lambda name: status.update(f"{name}: {certificate.SAID[name]}"))
                proof = proved(Path(folder), mine, options.ranks, names, status.update)
                status.update("real PyTorch with your all_reduce")
                real = trained_for_real(mine, names)
            judged = certificate.judge(found)
            text = certificate.page(setting, judged, proof)
    except (Exception, SystemExit) as error:
        print(f"mtd capstone: {scripts.shown(error)}", file=sys.stderr)
        return 1
    page = Page(console)
    for line in judged.lines:
        page.say(_said(line))
        for one in [*line.complaints, *line.lived.story * (line.lived.name in STORIES)]:
            page.say(one, indent=4)
    if any(line.order for line in judged.lines):
        page.say(LEGEND, "dim")
    for said in [] if proof is None else [proof.sentence, *proof.complaints[bool(proof.wrong) :]]:
        page.say(said)
    if real is not None:
        page.say(f"{real.about} {real.sentence}")
    for part, who in setting.parts:
        page.say(f"  {part:<45} {who}")
    if not judged.is_met and any(who.startswith("yours") for _, who in setting.parts):
        page.say("Look at the parts that are yours: mtd check --all tries your lessons one by one.")
    whole_files.write(options.out, text)
    page.say(f"wrote {options.out}")
    if judged.is_met:
        lived = [line for line in judged.lines if not line.lived.skipped]
        said = f"the same in {certificate.many(len(lived), 'world')}, {options.ranks} ranks"
        achievements.enter("capstone", script.name, len(lived), said)
    is_real = real is None or real.is_right
    return 0 if judged.is_met and is_real and (proof is None or proof.is_met) else 1


def proved(
    folder: Path, mine: Workspace | None, ranks: int, names: Sequence[str], telling: Callable[[str], None]
) -> stack_proof.StackProof | None:
    """The learner's stack on those wires that are asked for; None where there is no course of theirs, or no wire."""
    wires = [name for name in stack_proof.WIRES if name in names]
    if mine is None or not wires:
        return None
    return stack_proof.prove(folder, mine, ranks, wires, telling=telling)


def trained_for_real(mine: Workspace | None, names: Sequence[str]) -> RealTraining | None:
    """Real PyTorch's DDP with the all_reduce of lesson 13; None where there is no course of theirs, or no torch."""
    if mine is None or worlds.TORCH not in names or importlib.util.find_spec("torch") is None:
        return None
    return next(real_bridge.train(lesson.find(13)))


def _said(line: certificate.CertificateLine) -> str:
    lived = line.lived
    if lived.skipped:
        return f"– {lived.name:<10} {lived.skipped}"
    sign = "✔" if line.is_met else "✘"
    order = f"  order {line.order[:8]}  {sum(lived.bytes_sent):,} bytes" if line.order else ""
    ranks = certificate.many(lived.ranks, "rank")
    return f"{sign} {lived.name:<9} {ranks:<7}  weights {line.weights[:12]}{order}"
