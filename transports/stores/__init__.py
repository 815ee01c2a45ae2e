"""Where ranks find each other: a small key-value store, kept in three ways.

    shelf       what a command means, written once: a function of keys and values
    store       the face that all stores share, `HashStore` (threads), `PrefixStore` (a part of another)
    tcp         the master's process keeps the shelf (`server`); what they say to each other: `protocol`
    file        a log of commands in one file (`processes`: does the one who wrote it still live?)

A store decides only what waiting means, so they cannot differ in anything else. The fourth, for
machines that reach nothing but a broker, stands on what `mqtt` stands on: `channel.store`.
"""
