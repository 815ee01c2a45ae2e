"""Every repeat is thrown away, because the sender calls it one

The flag says that the sender has sent this before. It does not say that the letter has come: the first copy may be
the one that was lost. MQTT's standard forbids this conclusion in so many words.
Caught by: right
Passes: never torn, memory
Seen: https://github.com/eclipse-mosquitto/mosquitto/issues/398
"""

# BLANK 1: the letters to read now
if number >= self.expected and not again:
    self.early[number] = letter
ready = []
while self.expected in self.early:
    ready.append(self.early.pop(self.expected))
    self.expected += 1
return ready
# END
