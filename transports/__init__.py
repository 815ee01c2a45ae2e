"""Whole messages of bytes between numbered ranks, over anything: queues, TCP, a file, MQTT, time itself.

This ground knows no arrays, no groups and no tags. Begin with `contract`, which says what a transport
promises, and `queue`, the shortest one.

    queue  tcp  file  mqtt  mpi  sim      the transports, one module for each scheme
    sockets/  shared_file/  channel/ (and broker/)  mpi_medium  virtual/      what these stand on
    stores/        where ranks find each other, before the first message
    faults/        things that go wrong on purpose
    conformance/   is the contract kept? A check for any transport, yours included
    registry       from an address (`tcp://host:port`) to a transport
    simulation     a program on every rank in virtual time

The ground of all of them: `clock` (only it waits), `errors`, `keys` and `identity` (who is a peer), `rendezvous`
(each leaves a card), `frames` (messages out of a stream), `turn` (at most one thread drives), `board` and `spin`
(memory that several see), `growing` (ranks that come later), `wrapping` and `recording` (around another
transport), `quantities` ("2us", "64KB").

Import the modules (`transports.tcp`), not this package: its name is a common word.
"""
