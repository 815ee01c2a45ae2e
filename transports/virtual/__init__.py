"""What `sim` stands on: virtual time, and a network in it.

clock       what waiting means where time jumps as soon as nobody can run
relay       of all ranks exactly one runs: the baton passes from strand to strand
strands     one rank's thread: it runs only while it holds the baton (`greenlets`: without threads)
condition   what `threading.Condition` does, under this clock
order       which of several that could run goes first
agenda      what is going to happen, and the jump to it
deadlock    who waits for whom, in words
interrupts  Ctrl-C, taken note of where nobody may be torn out of what they do
worlds      how the ranks of one world find each other
topology    what a network is made of: links with latency and bandwidth, ports that serve in turn
medium      messages pass through it and land
fates       what befalls them, and the ranks: a plan of faults, carried out
"""
