"""`send` may take only a part, and says how much. Nobody listens.

Caught by: correct
Passes: ends, refuses, calls
Seen: https://github.com/kytos/kytos/issues/351
Seen: https://github.com/Jajcus/pyxmpp/issues/37
"""

# BLANK 2: send for sendall
connection.send(frames.pack(len(header), len(payload)) + header + payload)
# END
