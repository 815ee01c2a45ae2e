"""Whole messages of bytes between numbered ranks, over anything: queues, TCP, a file, MQTT, time itself.

This package knows no arrays, no groups and no tags. Begin with `contract`, which says what a transport
promises, and `queue`, the shortest one.

The transports, one module for each scheme; below each stands what it is made of:

    queue           threads of one process
    tcp             connections                                      sockets
    file            a mapped file, or logs                           shared_file
    mqtt            a message broker                                 mqtt_protocol, broker
    mpi             a system's MPI                                   mpi_medium
    sim             a simulated network in virtual time              virtual

All of them share these:

    contract        the promises
    clock           the only module that waits
    errors          what can go wrong
    keys            the job's key, which proves a peer
    identity        the name of a rank's process
    plain_text      texts of others, as they may be shown
    keeper          files: written whole, locked, and deleted only if they are ours
    rendezvous      each rank leaves a card in the store
    frames          messages out of a stream
    driven          one thread drives a transport, and the others wait beside it
    polled          media that wake nobody and have to be looked at
    threaded        media where the sender's thread writes into the receiver's inbox
    costs           what a medium's messages cost
    board           memory that several ranks see
    spin            how a waiting rank looks at memory
    quantities      amounts with units: "2us", "64KB"

These use them:

    stores          where ranks find each other, before the first message
    faults          things that go wrong on purpose
    conformance     a check for any transport, yours included: is the contract kept?
    registry        from an address (`tcp://host:port`) to a transport
    simulation      a program on every rank in virtual time

Import the modules (`transports.tcp`), not this package: its name is a common word.
"""
