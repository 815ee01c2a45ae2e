"""The parts of `tcp`: a connection for each pair of ranks, made safely and closed whole.

    endpoints      hosts, ports and interfaces: where to listen, and the error when that fails
    handshake      both ends prove that they hold the job's key
    auth_listener  the listener, which tells nothing to a stranger without that proof
    tls            encryption, where it is asked for; it begins after the proof
    liveness       whether the other host is still there
    links          one connection: the arriving stream is cut into messages, sends stay whole
    mesh           how all pairs of ranks connect
    farewell       how a connection is closed, so that the last message still arrives

`TCPStore` uses the same listener, and the same questions whether the other host is there.
"""
