"""Lesson 05 over real wires: your recv takes from a mailbox that other processes fill.

A message that your `send` puts under way leaves through the library's transport at once. `world.wait()` returns when
a message has come from there: not necessarily the one that is waited for.
"""

import mailboxes
import numpy as np

import minitorch_dist as torch
from minitorch_dist.distributed import world
from mtd.course.post import MessageBox

TAGS, EACH = (0, 1, 7), 2


class RankWorld:
    """The world of lesson 05 as one rank sees it; the other ranks are elsewhere."""

    def __init__(self, patience):
        self.post, self.patience = MessageBox(), patience
        self.size, self.running = self.post.size, self.post.rank
        self.mailboxes = {self.running: []}
        self.under_way, self.asks, self.journal = self, {}, []

    def __getitem__(self, link):
        return Link(self.post, link[1])

    def hand_on(self):
        """The other ranks run anyway."""

    def wait(self):
        come = self.post.receive(self.patience)
        if come is None:
            raise TimeoutError(
                f"rank {self.running} waits for {self.asks.get(self.running, 'a message')}, and nothing has come for "
                f"{self.patience:g} s (in its mailbox: {len(self.mailboxes[self.running])})"
            )
        src, (tag, numbers) = come
        self.mailboxes[self.running].append(mailboxes.Message(src, tag, torch.tensor(numbers)))


class Link:
    """The way to one rank."""

    def __init__(self, post, dst):
        self.post, self.dst = post, dst

    def append(self, message):
        self.post.send(self.dst, (message.tag, message.tensor.tolist()))


class EachItsOwn:
    """`mailboxes.world` of whichever rank asks: in the simulator all ranks share one module."""

    def __getattr__(self, name):
        return getattr(world.current().extras["lesson 05"], name)


mailboxes.world = EachItsOwn()


def program(wire):
    here = world.current().extras["lesson 05"] = RankWorld(wire.patience)
    me, size = mailboxes.get_rank(), mailboxes.get_world_size()
    kinds = [(other, tag) for other in range(size) for tag in TAGS for _ in range(EACH)]
    random, sent, heard = np.random.default_rng(me), {}, []
    for place in random.permutation(len(kinds)):
        dst, tag = kinds[place]
        number = sent[dst, tag] = sent.get((dst, tag), -1) + 1
        mailboxes.send(torch.tensor([float(me), float(tag), float(number)]), dst, tag=tag)
    for place in random.permutation(len(kinds)):
        src, tag = kinds[place]
        into = torch.zeros(3)
        sender = mailboxes.recv(into, src, tag)
        heard.append((src, tag, sender, into.tolist()))
        assert [sender, *into.tolist()[:2]] == [src, src, tag], (
            f"rank {me} asks for tag {tag} from rank {src}, and gets tag {into[1].item():g} from rank {into[0].item():g}"
        )
    here.post.leave()
    return heard
