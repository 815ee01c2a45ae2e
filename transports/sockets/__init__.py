"""What `tcp` stands on: a connection for each pair of ranks, made safely and closed whole.

    endpoints   hosts, ports and interfaces: where to listen, and what to say when that fails
    handshake   both ends prove that they hold the job's key
    door        the way in: who does not prove it is told nothing
    tls         encryption, where asked, after the proof
    links       one connection: the arriving stream is cut into messages, sends stay whole
    mesh        how all pairs come together
    porch       a door that stays open, for ranks that come later
    farewell    how a connection is closed, so that what was sent last still arrives

The server of `TCPStore` has the same door.
"""
