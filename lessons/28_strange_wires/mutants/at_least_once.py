"""What comes is read, for QoS 1 delivers

"At least once" was read as "once": after a lost acknowledgement the letter comes again, and is counted again.
Caught by: right
Passes: never torn, memory
Seen: https://github.com/eclipse-paho/paho.mqtt.python/issues/400
"""

# BLANK 1: the letters to read now
self.expected = max(self.expected, number + 1)
return [letter]
# END
