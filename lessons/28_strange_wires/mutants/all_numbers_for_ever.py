"""The numbers of all messages that ever came are remembered

This is right, but after a year of training the set of numbers is larger than the model.
Caught by: memory
Passes: correct, never torn
"""

# BLANK 1: the messages to read now
if not hasattr(self, "seen"):
    self.seen = set()
if number not in self.seen:
    self.seen.add(number)
    self.early[number] = message
ready = []
while self.expected in self.early:
    ready.append(self.early.pop(self.expected))
    self.expected += 1
return ready
# END
