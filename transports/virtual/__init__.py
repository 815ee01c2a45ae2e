"""The parts of `sim`: virtual time, and a network in it.

clock             what waiting means where time jumps as soon as no rank can run
scheduler         exactly one rank runs; the baton passes from one simulated thread to the next
sim_thread        one rank's thread, which runs only while it holds the baton
greenlets         the same with greenlets instead of threads
condition         what `threading.Condition` does, under this clock
order             the policy that chooses among several ranks that could run
event_queue       what will happen next, and the jump to it
deadlock          a deadlock in words: each waiting rank, and the circle of waits
locks             locks of the standard library, in which a rank parks
standstill        a look from outside at a rank that stands still in a lock of the system
interrupts        Ctrl-C, which is noted where it must not tear anything apart
ends              one rank's end: threads that wait at it, what it hears, how it leaves
waiting_sends     sends that wait for room, or for their receiver
worlds            how the ranks of one world find each other
topology          a network's parts: links with latency and bandwidth, ports that serve in turn
stations          links inside the network, which messages of all ranks pass one after another
network           the description of a network: its links, and how sends behave in it
medium            the network at work: messages pass through it and land
inboxes           what this network may ask of an inbox beyond the contract
read_on_landing   a message that is read only when it lands
rendezvous_sends  sends that wait for their receives
fault_injector    carries out a plan of faults on messages and ranks
"""
