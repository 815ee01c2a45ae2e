"""Every message that is flagged as a repeat is thrown away

The flag says that the sender has sent this before. It does not say that the message has come: perhaps the first copy was lost.
MQTT's standard forbids this conclusion explicitly.
Caught by: correct
Passes: never torn, memory
Seen: https://github.com/eclipse-mosquitto/mosquitto/issues/398
"""

# BLANK 1: the messages to read now
if number >= self.expected and not again:
    self.early[number] = message
ready = []
while self.expected in self.early:
    ready.append(self.early.pop(self.expected))
    self.expected += 1
return ready
# END
