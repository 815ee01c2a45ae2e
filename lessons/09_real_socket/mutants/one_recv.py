"""One recv for one message.

On loopback a message that was sent in one piece mostly arrives in one. On a slow line, or through a VPN, it does not.

Caught by: correct, ends
Seen: https://github.com/u9n/dlms-cosem/issues/35
Seen: https://github.com/Bouni/python-luxtronik/pull/181
"""

# BLANK 1: it asked for them, so they must be there
return connection.recv(nbytes)
# END
