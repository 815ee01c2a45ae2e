"""The laboratory for algorithms of collectives: `mtd lab mine.py`.

cases      the networks, numbers of ranks and lengths on which schedules are compared
racing     a schedule beside all others and the bound, in each case; what is done is kept
claims     what a paper says of rounds and bytes, beside what we count
msccl      MSCCL's XML, read as schedules and written
"""
