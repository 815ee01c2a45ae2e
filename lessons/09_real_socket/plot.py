# %% What one recv(4096) returns, where the reader comes now and then, and never in step with the sender
import matplotlib.pyplot as plt
import numpy as np

near, far = socket.socketpair()
got = []
with near, far:
    for messages in np.random.default_rng(9).geometric(0.3, size=400):
        for _ in range(messages):
            send(far, b"", b"1234")
        got.append(len(near.recv(4096)))
plt.hist(got, bins=np.arange(10, max(got) + 20, 20), rwidth=0.8)
plt.axvline(20, linestyle=":", label="one message")
plt.xlabel("bytes that one recv(4096) returned; a message is 20")
plt.ylabel("how often")
plt.legend()
plt.show()
