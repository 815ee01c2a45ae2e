"""What `mqtt` stands on: a reliable, authenticated channel through a broker that is neither.

    gathering    through which broker the ranks meet, and what the run is called (`newcomers`: one by one)
    frames       one MQTT payload: who, to whom, which number, sealed with the job's key
    flow         numbers, acknowledgements and credit: whole, once, in order, and never too much
    address      what `mqtt://user:password@host:port/run?chunk=…` means
    connection   the one thread that talks to the broker, and comes back when the broker does
    peers        one other rank: its flow, and whether it lives
    exchange     all peers behind one connection: what the I/O thread does with frames and with time
    store        `MQTTStore`: rank 0 keeps the shelf (`keeper`), the others ask (`inquirer`)

Why not rely on QoS 1: it is a promise between a client and the broker. A broker that sends to a
reader which is only slow has to drop something, and tells neither side (mosquitto, as installed,
lost 46 to 95 of 100 acknowledged messages that way). So the ends look after it themselves.
"""
