"""An agent learns the way through a maze; observers walk in it and ask the agent by remote calls.

    python programs/actor_critic.py     --world_size, --rank …; also --sim

    observer_1 ── the fields where its walkers are ──►┐
    observer_1 ◄── a direction for each ──────────────┤ agent: one net, which says where to go (actor)
    observer_2 ── … ─────────────────────────────────►┘        and how far the goal is (critic)

Each observer has mazes, the agent has the net. In an episode each walker goes until it is at the goal, or --steps steps.
Then the agent learns. A direction that led to more than the critic had expected becomes more likely, another one
less. The critic learns what came (Sutton and Barto, Reinforcement Learning, chapter 13.5). The frame is that of PyTorch's
RPC tutorial. Chance belongs to a walker, not to an observer, so any number of observers takes the same steps.
"""

import numpy as np

import minitorch_dist as torch
import minitorch_dist.distributed.rpc as rpc
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
from seam import alike, count, curve, flags, start

MAZE = """\
..#....
.....#.
.##.##.
....#.G"""
ROWS = MAZE.splitlines()
WIDE = len(ROWS[0])
FREE = [field for field, sign in enumerate("".join(ROWS)) if sign == "."]
GOAL = "".join(ROWS).index("G")
DIRECTIONS = {"↑": (-1, 0), "→": (0, 1), "↓": (1, 0), "←": (0, -1)}
DISCOUNT = 0.95


class Maze:
    """A walker begins in any field. It stays where it is if a wall is ahead, and at the goal it gets 1."""

    def reset(self, chance):
        self.at = int(chance.choice(FREE))
        return self.at

    def step(self, action):
        row, column = divmod(self.at, WIDE)
        down, right = list(DIRECTIONS.values())[action]
        row, column = row + down, column + right
        if 0 <= row < len(ROWS) and 0 <= column < WIDE and ROWS[row][column] != "#":
            self.at = row * WIDE + column
        done = self.at == GOAL
        return self.at, float(done), done


class Policy(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(len(ROWS) * WIDE, width)
        self.actor, self.critic = nn.Linear(width, len(DIRECTIONS)), nn.Linear(width, 1)

    def forward(self, states):
        hidden = torch.tanh(self.body(torch.eye(len(ROWS) * WIDE)[states]))
        return F.log_softmax(self.actor(hidden), -1), self.critic(hidden).squeeze(-1)


class Observer:
    """Walks with some of the walkers, each with a maze and a chance of its own."""

    def __init__(self, walkers):
        self.mazes = {walker: (Maze(), np.random.default_rng(walker)) for walker in walkers}

    def run_episode(self, agent_rref, steps):
        """The rewards of each walker, step by step."""
        states = {walker: maze.reset(chance) for walker, (maze, chance) in self.mazes.items()}
        rewards = {walker: [] for walker in states}
        for _ in range(steps):
            draws = [self.mazes[walker][1].random() for walker in states]
            actions = agent_rref.rpc_sync().select_actions(states, draws)
            for walker, action in actions.items():
                states[walker], reward, done = self.mazes[walker][0].step(action)
                rewards[walker].append(reward)
                if done:
                    del states[walker]
            if not states:
                break
        return rewards


class Agent:
    def __init__(self, observers, options):
        self.policy = alike(Policy(options.width))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=options.lr)
        self.rref, self.options = rpc.RRef(self), options
        shares = [list(range(options.walkers))[o :: len(observers)] for o in range(len(observers))]
        self.observers = [
            rpc.remote(name, Observer, args=(share,)) for name, share in zip(observers, shares, strict=True)
        ]

    def select_actions(self, states, draws):
        """A direction for each walker, drawn with the actor's probabilities; called by observers."""
        scores, values = self.policy(torch.tensor(list(states.values())))
        reached = scores.detach().exp().cumsum(-1)
        actions = {}
        for i, walker in enumerate(states):
            action = min(int((reached[i] < draws[i]).sum()), len(DIRECTIONS) - 1)
            self.said[walker].append((scores[i, action], values[i]))
            actions[walker] = action
        return actions

    def learn(self, rewards):
        """The loss of an episode; all its steps are one batch."""
        scores, values, returns = [], [], []
        for walker in range(self.options.walkers):  # in the order of their ranks, not of arrival
            after, came = 0.0, []
            for reward in reversed(rewards[walker]):
                after = reward + DISCOUNT * after
                came.insert(0, after)
            scores += [score for score, _ in self.said[walker]]
            values += [value for _, value in self.said[walker]]
            returns += came
        scores, values, returns = torch.stack(scores), torch.stack(values), torch.tensor(returns)
        better = returns - values.detach()
        loss = -(scores * better).mean() + F.smooth_l1_loss(values, returns)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def episode(self):
        """All observers walk at once, then the agent learns: the loss, and the steps per walker."""
        self.said = [[] for _ in range(self.options.walkers)]
        walks = [
            observer.rpc_async(timeout=0).run_episode(self.rref, self.options.steps) for observer in self.observers
        ]
        rewards = {}
        for walk in walks:
            rewards.update(walk.wait())
        return self.learn(rewards), sum(map(len, rewards.values())) / self.options.walkers

    def picture(self):
        """The maze, with the direction that is likeliest in each field."""
        with torch.no_grad():
            likeliest = self.policy(torch.arange(len(ROWS) * WIDE))[0].argmax(-1).tolist()
        text = "".join(
            "".join(DIRECTIONS)[action] if field == "." else field
            for field, action in zip("".join(ROWS), likeliest, strict=True)
        )
        return [text[begin : begin + WIDE] for begin in range(0, len(text), WIDE)]


def run(rank, world_size, options):
    names = [f"observer_{other}" for other in range(1, world_size)]
    rpc.init_rpc(names[rank - 1] if rank else "agent", rank=rank, world_size=world_size)
    course = None
    if rank == 0:
        agent = Agent(names or ["agent"], options)  # alone, the agent walks itself
        course = [agent.episode() for _ in range(options.episodes)]
        losses, steps = zip(*course, strict=True)
        print(*curve(steps, "steps until the goal", over="episodes"), sep="\n")
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, steps {steps[0]:.1f} -> {steps[-1]:.1f}")
        print("the maze (G: goal, #: wall), and where the agent would go:")
        for before, after in zip(ROWS, agent.picture(), strict=True):
            print(before, " ", after)
    rpc.shutdown()
    return course


def parser():
    made = flags(__doc__, world_size=3)
    words = "--walkers must be at least the number of observers, which is --world_size less one"
    made.demand(lambda o: o.walkers >= o.world_size - 1, words)
    for name, default in (("episodes", 100), ("walkers", 8), ("steps", 40), ("width", 32)):
        made.add_argument(f"--{name}", type=count, default=default)
    made.add_argument("--lr", type=float, default=2e-2)
    return made


if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
