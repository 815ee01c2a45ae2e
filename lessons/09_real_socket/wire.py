"""Lesson 09 over real wires: your frames in a stream of bytes, to the right neighbour.

Over tcp the stream is a socket between two processes. Over the others each piece of it is a message of the
library's, of at most 100 bytes: so it is cut where no message of yours ends.
"""

import socket

import stream

import minitorch_dist.distributed as dist
from mtd.course.post import MessageBox

PIECE = 100
MESSAGES = [(b"", b""), (b"tag 7", b"payload"), (b"", bytes(range(250))), (b"header", b"x" * 3000)]


class Pieces:
    """A stream to the right neighbour and from the left one, made of small messages."""

    def __init__(self, patience):
        self.post, self.patience, self.there = MessageBox(), patience, b""
        self.right = (self.post.rank + 1) % self.post.size
        self.ended = False

    def send(self, data):
        self.post.send(self.right, bytes(data[:PIECE]))
        return len(data[:PIECE])

    def sendall(self, data):
        data = memoryview(data)
        while len(data):
            data = data[self.send(data) :]

    def shutdown(self):
        self.post.send(self.right, b"")

    def recv(self, nbytes, *flags):
        if not self.there and not self.ended:
            come = self.post.receive(self.patience)
            if come is None:
                raise TimeoutError(
                    f"rank {self.post.rank} asks for {nbytes} bytes, and none come for {self.patience:g} s"
                )
            self.there = come[1]
            self.ended = not self.there
        piece, self.there = self.there[:nbytes], self.there[nbytes:]
        return piece

    def recv_into(self, buffer, nbytes=0, *flags):
        piece = self.recv(nbytes or len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self):
        self.post.leave()


class Sockets:
    """The same, of two sockets."""

    def __init__(self, patience):
        rank, size = dist.get_rank(), dist.get_world_size()
        ports = [None] * size
        with socket.create_server(("127.0.0.1", 0)) as server:
            dist.all_gather_object(ports, server.getsockname()[1])
            self.to_right = socket.create_connection(("127.0.0.1", ports[(rank + 1) % size]))
            self.from_left, _ = server.accept()
        for end in (self.to_right, self.from_left):
            end.settimeout(patience)
        self.send, self.sendall = self.to_right.send, self.to_right.sendall
        self.recv, self.recv_into = self.from_left.recv, self.from_left.recv_into

    def shutdown(self):
        self.to_right.shutdown(socket.SHUT_WR)

    def close(self):
        dist.barrier()
        self.to_right.close()
        self.from_left.close()


def program(wire):
    rank, size = dist.get_rank(), dist.get_world_size()
    connection = (Sockets if wire.name == "tcp" else Pieces)(wire.patience)
    try:
        for header, payload in MESSAGES:
            stream.send(connection, b"%d " % rank + header, payload)
        connection.shutdown()
        heard = []
        while (message := stream.receive(connection)) is not None:
            heard.append(tuple(bytes(part).hex() for part in message))
    finally:
        connection.close()
    left = b"%d " % ((rank - 1) % size)
    wanted = [((left + header).hex(), payload.hex()) for header, payload in MESSAGES]
    assert heard == wanted, (
        f"rank {rank} hears {len(heard)} messages, and not the {len(wanted)} that were sent: {heard}"
    )
    return heard
