"""A class whose laptops are the ranks: `mtd class host` and `mtd class join`.

    teacher's machine                                        a student's laptop
    broker ◄───────────────── MQTT ─────────────────────────► store, transport
    server of the store ── queues: what is said, orders ───► Pupil: an ear, and hands
    Host ─► Room: seats, generations, the checkpoint          ├─ Training: lesson 4's script, exact
            └─ views, pages, the certificate                  └─ Racing: ring against tree

Read `room` first: all rules are there, without a wire or a clock. `messages` is all that can be said; nothing else
is understood. `words` makes the key, `names` what may be shown, `guard` says who may do what in the store; `host` and
`pupil` put both ends on one. `training` and `racing` are what a class does; `slip` keeps a step's journal in memory. `view`, `story`,
`drawing` and `console` are the teacher's terminal, `pages` the projector.
"""
