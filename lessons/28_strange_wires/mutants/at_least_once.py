"""Every message that comes is read, because QoS 1 delivers it

"At least once" was taken for "once": after a lost acknowledgement the message comes again, and is counted again.
Caught by: correct
Passes: never torn, memory
Seen: https://github.com/eclipse-paho/paho.mqtt.python/issues/400
"""

# BLANK 1: the messages to read now
self.expected = max(self.expected, number + 1)
return [message]
# END
