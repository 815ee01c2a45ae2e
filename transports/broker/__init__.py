"""A small MQTT broker in a process of its own, for worlds that have none.

    python -m transports.broker            prints mqtt://127.0.0.1:PORT and serves
    broker = transports.broker.launch.start()      the same from a program; broker.stop()

MQTT 3.1.1 with QoS 0 and 1, retained messages, wills, keepalive, `+` and `#`. It keeps no sessions
beyond their connection and nothing on disk, and refuses QoS 2. Read `packets` first (bytes), then `topics`
and `retained` (which client gets which message), `router`, and `outbox` (what waits for a client). A `session` is one
client. Its `identifiers` are of the kind that nobody else can come with, and `rules` are the rights of clients. `server`
holds them all; `command` serves until told to stop, with the `credentials` that members come with.

Why not an existing one? The broker most often embedded in Python programs does not enforce keepalive. It
shows retained messages to clients that did not subscribe, and it brings compiled code. For a broker of your
own, mosquitto is the one to install; every test here runs against both.
"""
