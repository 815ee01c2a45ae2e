"""Where ranks find each other: a small key-value store, kept in three ways.

    key_values  the meaning of each command, written once: a function of keys and values
    store       the interface of all stores; `HashStore` for threads; `PrefixStore`, a part of another
    tcp         `TCPStore`: the master's process keeps the values, all ranks are its clients
    server      the master's side of it: `served_client` is one client, `waiting` those who wait for keys, `timers` until when
    protocol    the requests and answers between both sides
    file        `FileStore`: a log of commands in one file
    processes   whether the process that wrote a mark still lives

A store decides only what waiting means, so the stores cannot differ in anything else. The fourth is for
machines that reach nothing but a broker. It stands on what `mqtt` stands on: `mqtt_protocol.store`.
"""
