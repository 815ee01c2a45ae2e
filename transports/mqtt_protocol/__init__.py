"""The parts of `mqtt`: a reliable, authenticated channel through a broker that is neither.

    run_location  the broker through which the ranks meet, and the name of the run
    address       the meaning of `mqtt://user:password@host:port/run?chunk=…`
    frames        one MQTT payload: sender, receiver and number, sealed with the job's key
    flow          numbers, acknowledgements and credit: whole, once, in order, never too much
    connection    the one thread that talks to the broker, and connects again after a break
    listening     since when the broker is away, and why
    peers         one other rank: its flow, and whether it lives
    peer_table    all peers of one connection: the I/O thread's work on frames and timeouts
    store         `MQTTStore`: rank 0 keeps the values, the others ask for them
    store_end     what both sides of it do
    store_server  rank 0's side of it
    asker         one client, as that side knows it
    store_client  the side that asks

Why not rely on QoS 1? It is a promise between a client and the broker. A broker that sends to a reader
which is only slow has to drop something, and tells neither side. Mosquitto, as installed, lost 46 to 95 of
100 acknowledged messages that way. So the ends look after it themselves.
"""
