"""`mtd lab mine.py`: a schedule of your own is proved, drawn, costed, and ranked beside all that there are.

mtd lab mine.py                                all that its file has
mtd lab mine.py:swing --ranks 16,64 --net torus
mtd lab swing --paper claims.csv               one that is built in, beside what a paper says of it
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import asdict
from pathlib import Path

from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.schedule import Schedule
from mtd.cli import page as tables
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.cli.plan_progress import tell
from mtd.grids import contributions
from mtd.laboratory import claims, msccl, racing
from mtd.laboratory.cases import Case, cases
from mtd.laboratory.racing import LabResults, RaceEntry
from mtd.pages import whole_files
from mtd.refusals import refusing

CACHE = ".mtd-lab.json"
HEAD = "network", "ranks", "bytes", "time", "bound", "place", "best of the others", ""
Found = list[tuple[Case, list[RaceEntry]]]


def configure(parser: Parser) -> None:
    parser.takes(f"""
        algorithm ALGORITHM         a file with one of your own, mine.py or mine.py:swing, or the name of one that is built in, like swing
        --collective COLLECTIVE     only this one, where there are several
        --ranks RANKS: numbers      how many, like 8,16,64 (8, 12, 16 and 64, as far as it is made for them)
        --size BYTES...             of the vector (1KB, 64KB, 1MB and 16MB; may be given again)
        --net|--network NET...      ethernet, cluster, nodes, torus, or as mtd simulate --net takes it (may be given again)
        --paper FILE                a table of what a paper says, in CSV: algorithm, ranks, rounds, sent, …
        --draw RANKS: int           draw it for so many ranks (3 or 4)
        --export FILE               write it as MSCCL's XML, for the first of these numbers of ranks
        --json                      for programs
        --cache CACHE = {CACHE}     where what is done is kept (%(default)s)
    """)
    parser.set_defaults(run=run, epilog="mtd lab mine.py --ranks 16,64 --net torus --size 64KB")


def run(options: argparse.Namespace) -> int:
    page = Page()
    with refusing():
        entered = racing.entered(options.algorithm, options.collective)
        table = claims.read(claims.OF_THE_GALLERY if options.paper is None else Path(options.paper))
        asked = [cases(one, options.ranks or (), options.size, options.net) for one in entered]
        exported = _export(entered, asked, options.export)
        results = [LabResults(Path(options.cache), one, options.algorithm, tell) for one in entered]
    if exported is not None:
        page.say(exported)
    try:
        for schedule, every, kept in zip(entered, asked, results, strict=True):
            with refusing():
                _one(page, schedule, every, kept, table, options)
    except KeyboardInterrupt:
        tell(f"\nmtd lab: interrupted; what is done is in {options.cache}, and the same command goes on")
        return 130
    return 0


def _export(entered: list[Schedule], asked: list[list[Case]], file: str | None) -> str | None:
    """Write the last schedule as MSCCL's XML."""
    if file is None:
        return None
    text = msccl.write(entered[-1], asked[-1][0].ranks)
    whole_files.check(file, b"<algo", "algorithm of MSCCL's")
    whole_files.write(file, text)
    return f"wrote {file}, for {asked[-1][0].ranks} GPUs"


def _one(
    page: Page,
    schedule: Schedule,
    every: list[Case],
    kept: LabResults,
    table: list[claims.PaperClaim],
    options: argparse.Namespace,
) -> None:
    ranks = sorted({case.ranks for case in every})
    proved = []
    for size in racing.proofs(schedule, ranks):
        proved.append(size)
        _progress(f"{schedule}: proved for {size} ranks")
    found: Found = []
    for number, case in enumerate(every, 1):
        _progress(f"{schedule}: {case.name}, {case.ranks} ranks, {case.size} ({number} of {len(every)})")
        found.append((case, kept.of(case, lambda case=case: racing.race(schedule, case))))  # type: ignore[misc]
    _progress("")
    said = [*claims.compare(table, schedule, [size for size in proved if size > 1])]
    if options.json:
        rows = [{**asdict(case), "algorithms": [asdict(one) for one in entries]} for case, entries in found]
        print(json.dumps({"schedule": str(schedule), "proved": proved, "cases": rows}, indent=1))
        return
    page.tell((f"{schedule}", "bold"), f": made for {schedule.domain_in_words}")
    page.say(f"Proved for {tables.listed(proved)} ranks: each contribution once, and nobody waits for ever.")
    other = racing.other_bits(schedule)
    if other:
        page.say(f"With {other} ranks some add in another order than others: the last bits of their sums differ.")
    drawn = options.draw or next((one for one in (3, 4) if schedule.serves(one)), proved[-1])
    if drawn <= 16:
        page.as_it_is(str(contributions.of_schedule(schedule, drawn)))
    _costs(page, schedule, ranks)
    _ranking(page, schedule, found)
    _paper(page, said)


def _costs(page: Page, schedule: Schedule, ranks: list[int]) -> None:
    """Its own rounds, messages and bytes, of a vector of n bytes."""
    for size in ranks:
        n = 4 * math.lcm(size, max(schedule.total(size), 1))
        bill = cost(schedule, size, n)
        page.say(
            f"{size} ranks: {schedule.total(size)} chunks, {bill.rounds} rounds, {bill.messages:,} messages, "
            f"a rank sends at most {bill.max_sent / n:.4g} n"
        )


def _ranking(page: Page, schedule: Schedule, found: Found) -> None:
    table = tables.table(*HEAD, left=[HEAD[0], HEAD[6]], is_tight=True)
    first = 0
    for case, entries in found:
        mine = next(one for one in entries if one.algorithm == schedule.algorithm)
        best = next((one for one in entries if one is not mine), mine)
        place = 1 + sum(one.time < mine.time for one in entries)
        first += place == 1
        time, others = tables.beside_bound(mine.time, mine.bound), best.algorithm.partition(":")[0]
        cells = case.name, f"{case.ranks}", case.size, *time, f"{place}/{len(entries)}", others
        table.add_row(*cells, f"{best.time / mine.time:.2f}", style="bold" if place == 1 else "")
    page.say(tables.fitting(table, page.console))
    page.say(f"First in {first} of {len(found)} cases.")
    page.say("The last column is the time of the best of the others ÷ its own.")


def _paper(page: Page, said: list[claims.Comparison]) -> None:
    if not said:
        return
    wrong = [one for one in said if not one.agrees]
    page.say()
    page.say(f"{said[0].claim.cells.get('source') or said[0].claim.place}")
    page.say(
        f"{len(said) - len(wrong)} of {len(said)} numbers of the paper are what we count: rounds, messages, bytes."
    )
    for one in wrong[:10]:
        what = f"{one.claim.place}: {one.what} with {one.ranks} ranks"
        page.say(f"{what} is {float(one.said):g} there, and {one.counted:,} here", indent=2)


def _progress(text: str) -> None:
    """On one line of a terminal; elsewhere nothing, since it would fill a file."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text[:78]}", end="", file=sys.stderr, flush=True)
