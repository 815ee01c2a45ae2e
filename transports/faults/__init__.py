"""Things that go wrong on purpose.

plans     what shall go wrong, as data: written down, compared, taken apart and read back
rules     what befalls one message: verdicts, by seed
faulty    a transport on which it happens; wraps any other, in real or virtual time
"""
