"""Messages on a platform under SimGrid. Read as JSON from the standard input:

    {"ranks": 4, "links": [[bytes a second, seconds], …], "routes": [[src, dst, [link, …]], …],
     "messages": [[src, dst, bytes, seconds], …]}        (when it leaves)

Said as JSON: the second at which each message is there. It imports nothing of ours,
since SimGrid's module lives in the system's own Python.
"""

import json
import sys

import simgrid

MODEL = (
    "network/model:CM02",  # flows that share links, max-min, without TCP's slow start
    "network/TCP-gamma:0",  # no limit by a window
    "network/crosstraffic:0",  # the way back is free
)


def main(ranks: int, links: list, routes: list, messages: list) -> list:
    flags = [f"--cfg={flag}" for flag in MODEL]
    engine = simgrid.Engine(["platform", "--log=root.thres:critical", *flags])
    zone = simgrid.NetZone.create_full_zone("platform")
    hosts = [zone.create_host(str(rank), 1e9) for rank in range(ranks)]
    made = [
        zone.create_link(str(number), rate).set_latency(latency).seal() for number, (rate, latency) in enumerate(links)
    ]
    for src, dst, way in routes:
        route = [simgrid.LinkInRoute(made[number]) for number in way]
        zone.add_route(hosts[src].netpoint, hosts[dst].netpoint, None, None, route, False)
    zone.seal()
    ends = [0.0] * len(messages)

    def sender(number: int, nbytes: int, start: float) -> None:
        simgrid.this_actor.sleep_until(start)
        simgrid.Mailbox.by_name(str(number)).put("x", nbytes)

    def receiver(number: int) -> None:
        simgrid.Mailbox.by_name(str(number)).get()
        ends[number] = simgrid.Engine.clock

    for number, (src, dst, nbytes, start) in enumerate(messages):
        simgrid.Actor.create(f"s{number}", hosts[src], sender, number, nbytes, start)
        simgrid.Actor.create(f"r{number}", hosts[dst], receiver, number)
    engine.run()
    return ends


if __name__ == "__main__":
    print(json.dumps(main(**json.load(sys.stdin))))
