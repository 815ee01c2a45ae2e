# %% What one recv(4096) returns, when the sender sends 1000 messages of 20 bytes as fast as it can
import matplotlib.pyplot as plt

near, far = socket.socketpair()
sizes = []
with near, far:
    for number in range(1000):
        send(far, b"", b"1234")
        if number % 7 == 0 or number == 999:  # the reader is slower than the sender
            sizes.append(len(near.recv(4096)))
plt.hist(sizes, bins=30)
plt.xlabel("bytes that one recv(4096) returned; a message is 20")
plt.ylabel("how often")
plt.show()
