"""A distributed stack, in the order of its lessons.

01  neighbour.py       First picture
02  books.py           A tensor that keeps the books
03  backwards.py       Backwards, in the right order
04  golden.py          The golden run
05  mailboxes.py       Ranks and mailboxes
07  shift.py           Deadlock
08  messages.py        The wire contract
09  stream.py          A real socket
10  meeting.py         Finding each other
11  tree.py            One to all, all to one
12  exactly_once.py    Exactly once
13  ring.py            Ring all-reduce
14  doubling.py        log P
15  choice.py          Which one when?
16  order.py           The order of additions
17  replicas.py        Data parallel
18  buckets.py         Buckets, and pieces of a batch
19  overlap.py         Overlap
21  sharded.py         Shard everything
22  calls.py           Remote calls
23  owners.py          Remote references
24  across.py          Distributed autograd
25  server.py          Parameter server
26  stages.py          A pipeline
27  one_f_one_b.py     One forward, one backward
28  wires.py           Strange wires
29  generations.py     Elastic
31  cut.py             Cut the matrix
32  experts.py         Experts
33  recompute.py       Recompute and round
34  zero_bubble.py     Zero bubble
35  local_steps.py     How long may we not talk?

face  what is given
"""
