"""One rank on one of several machines: `mtdrun --nnodes 2 … -m mtd.course.real_wires 13`.

It runs the lesson's program with the learner's file, and compares with the simulator, where this rank alone has all ranks.
"""

from __future__ import annotations

import sys

import minitorch_dist.distributed as dist
from minitorch_dist import sim
from mtd.course import lesson as lessons
from mtd.course.lesson import LessonError
from mtd.course.path import LessonAnswer
from mtd.course.real_wires import differences, program
from mtd.course.real_wires.program import LessonWire
from mtd.course.real_wires.swapping import NET, PATIENCE
from mtd.course.workspace import found_or_none
from transports.quantities import in_words

HERE = "machines"  # the wire's name: whatever joins them


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(f"usage: mtdrun … -m {__package__} LESSON", file=sys.stderr)
        return 2
    try:
        lesson = lessons.find(arguments[0])
    except LessonError as error:
        print(error, file=sys.stderr)
        return 2
    workspace = found_or_none()
    written = workspace.written(workspace.progress()) if workspace else {}
    own = written.get(lesson.number)
    answer = LessonAnswer(lesson, own, written) if own else LessonAnswer.ours(lesson)
    with answer.searched():
        dist.init_process_group("tcp")
        rank, size = dist.get_rank(), dist.get_world_size()
        found, took = program.run(str(lesson.folder), LessonWire(HERE, "", "", PATIENCE))
        dist.destroy_process_group()
        wire = LessonWire("sim", NET, "", PATIENCE)
        virtual = sim.run(program.run, size, (str(lesson.folder), wire), net=NET).results[rank][0]
    parted = differences.first(virtual, found)
    said = "as in the simulator"
    if parted is not None:
        place, expected, here = parted
        said = f"not as in the simulator: {place} is {here}, expected {expected}"
    print(
        f"rank {rank} of {size}, {'your' if own else 'our'} {lesson.file}: {differences.digest(found)}, {in_words(took)}, {said}",
        flush=True,
    )
    return 0 if parted is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
