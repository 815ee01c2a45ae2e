"""A learner's file over four wires: in the simulator, then in processes over tcp, over a folder, over mqtt.

    for run in swap_wires(read(folder), file):    the lesson's wire.py is run on every rank
        print(run.wire, run.digest, run.time, run.wrong)

    program      one rank: the lesson's `program(wire)`, three times, and how long it took
    swapping     one wire after the other, and whether the results are equal bit for bit
    differences  where two results part, and what a learner's module keeps that ranks would share

A lesson that has a `wire.py` can be run so. Its check has the lamp "real wire", which is `demand`. Here is
no file of the learner's ever changed: only the address of the world is another one.
"""

from mtd.course.real_wires.swapping import demand as demand, swap_wires as swap_wires
