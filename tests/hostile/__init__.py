"""Hostile input and faults, at every place where something from outside comes in.

    python -m tests.hostile --seconds 600 --seed 1         all of it (make hostile)
    python -m tests.hostile --only codec --seconds 30      the parts whose name begins so
    python -m tests.hostile --replay codec:1:4711          one input again, which fell

There are five kinds of parts:

    doors     one parser each: a right input is made by the real writer, bent where its structure says
              that it hurts, and given to the real reader
    live      a server with honest clients at work, while odd clients and strangers come
    faults    worlds of processes of which one is killed, frozen or interrupted, or has no disk, no
              files or no memory left
    folders   folders in which others have files, and something odd stands in the place of ours
    at_once   programs that know nothing of each other, in one place

Each attempt has a token, from which it is made again. `judging` says what counts as a fall.
"""
