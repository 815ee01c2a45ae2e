"""`mtd capstone`: one training script in seven worlds, and a certificate of what they have in common."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from minitorch_dist.cli import scripts
from minitorch_dist.course import achievements, certificate, lesson, worlds


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ranks", type=int, default=3, help="in all worlds but the first (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of what goes wrong in one of them")
    parser.add_argument(
        "--worlds", default=",".join(worlds.NAMES), help="some of them (%(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("certificate.html"), help="the page (%(default)s)"
    )
    parser.add_argument(
        "script", nargs="?", help="a file with main(arguments) -> (losses, weights); lesson 04's train.py"
    )  # fmt: skip
    parser.add_argument("arguments", nargs="...", help="what its main is given")
    parser.set_defaults(run=run, epilog="mtd capstone --ranks 4 train.py --steps 40")


def run(options: argparse.Namespace) -> int:
    names = [name.strip() for name in options.worlds.split(",")]
    unknown = [name for name in names if name not in worlds.NAMES]
    if unknown or options.ranks < 1:
        wrong = f"there is no world {unknown[0]!r}; there are {', '.join(worlds.NAMES)}" if unknown else (
            f"--ranks is {options.ranks}; a world has at least one"
        )  # fmt: skip
        print(f"mtd capstone: {wrong}", file=sys.stderr)
        return 2
    if not options.out.resolve().parent.is_dir():
        print(f"mtd capstone: there is no folder for {options.out}", file=sys.stderr)
        return 2
    script = Path(options.script or lesson.find(4).folder / "train.py").resolve()
    console = Console(highlight=False)
    try:
        scripts.check(str(script))
        with tempfile.TemporaryDirectory(prefix="capstone-") as folder:
            setting = worlds.TrainingSetup(
                script, tuple(options.arguments), options.ranks, Path(folder), options.seed
            )
            with console.status("") as status:
                found = worlds.live(
                    setting, names, lambda name: status.update(f"{name}: {certificate.SAID[name]}")
                )
            judged = certificate.judge(found)
            text = certificate.page(setting, judged)
    except (Exception, SystemExit) as error:
        print(f"mtd capstone: {scripts.shown(error)}", file=sys.stderr)
        return 1
    for line in judged.lines:
        console.print(_said(line), markup=False, soft_wrap=True)
    options.out.write_text(text, encoding="utf-8")
    console.print(f"wrote {options.out}", markup=False, soft_wrap=True)
    if judged.is_met:
        lived = [line for line in judged.lines if not line.lived.skipped]
        said = f"the same in {certificate.many(len(lived), 'world')}, {options.ranks} ranks"
        achievements.enter("capstone", script.name, len(lived), said)
    return 0 if judged.is_met else 1


def _said(line: certificate.CertificateLine) -> str:
    lived = line.lived
    if lived.skipped:
        return f"– {lived.name:<10} {lived.skipped}"
    sign = "✔" if line.is_met else "✘"
    order = f"  order {line.order[:8]}  {sum(lived.bytes_sent)} bytes" if line.order else ""
    text = f"{sign} {lived.name:<10} {certificate.many(lived.ranks, 'rank')}  weights {line.weights[:16]}{order}"
    return "\n".join([text, *(f"    {one}" for one in line.complaints)])
