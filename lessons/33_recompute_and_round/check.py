"""Lesson 33: the same gradients from less memory, and weights of half the bits that still learn."""

import math

import recompute

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import cuda, nn, sim
from minitorch_dist.testing import exact
from mtd.course import MeasuredCost, lab, lamp, real_wires
from mtd.course.layers import SquareLayer
from mtd.course.loading import beside

modules = beside(__file__, "modules")
rounded = beside(__file__, "rounded")

SIZES = (1, 2, 3, 5)


# ------------------------------------------------------------------------------ compute it again


@lamp("correct")
def right():
    """Output and gradients are those without a checkpoint, bit for bit: several inputs, an unused parameter, a module used twice."""
    for case in modules.CASES:
        wanted, found = (
            modules.gradients(modules.plainly, case),
            modules.gradients(recompute.checkpoint, case),
        )
        assert found == wanted, f"{case}: output and gradients are {found}, expected {wanted}"
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert not recompute.checkpoint(nn.Tanh(), x).requires_grad, (
            "within no_grad there is a graph"
        )


@lamp("same dice")
def dice():
    """Dropout drops the same numbers in the second forward, and other draws go on as if there had been none."""
    found = []
    for call in (modules.plainly, recompute.checkpoint):
        torch.manual_seed(7)
        x = torch.ones(64, requires_grad=True)
        one, other = call(modules.Dropped(), x), call(modules.Dropped(), x)
        torch.rand(3)  # somebody else draws between forward and backward
        (one + 10 * other).sum().backward()
        found.append((one.tolist(), other.tolist(), x.grad.tolist(), torch.rand(1).item()))
    (*wanted, after), (*seen, drawn) = found
    assert seen[:2] == wanted[:2], "already the first forward drops other numbers"
    differ = [place for place, pair in enumerate(zip(seen[2], wanted[2])) if pair[0] != pair[1]]
    assert not differ, (
        f"of 64 numbers that dropout drops or doubles, {len(differ)} have another gradient than without a checkpoint: "
        f"element {differ[0]} has {seen[2][differ[0]]}, expected {wanted[2][differ[0]]}. Did the second forward draw anew?"
    )
    assert drawn == after, (
        f"after backward the next random number is {drawn:.4f}, and without a checkpoint {after:.4f}: backward must "
        "put back the state that it found"
    )


@lamp("frozen inputs")
def frozen():
    """Often no input needs a gradient, and the parameters do; or only some of these; or nothing at all."""
    for case in ("no input", "no input, and w frozen", "nothing"):
        results = []
        for call in (modules.plainly, recompute.checkpoint):
            layer = nn.Linear(2, 2)
            nn.init.constant_(layer.weight, 0.5)
            nn.init.constant_(layer.bias, 1.0)
            layer.weight.requires_grad_(case == "no input")
            layer.bias.requires_grad_(case != "nothing")
            output = call(layer, torch.ones(1, 2))
            if case != "nothing":
                assert output.requires_grad, (
                    f"{case} needs a gradient, the parameters do, and the output of checkpoint has no graph: so nothing "
                    "in it is ever trained"
                )
                output.sum().backward()
            grads = [None if p.grad is None else p.grad.tolist() for p in layer.parameters()]
            results.append((output.requires_grad, grads))
        assert results[0] == results[1], (
            f"{case} needs a gradient: (does the output, those of the parameters) is {results[1]}, expected {results[0]}"
        )


@lamp("nested", star=2)
def nested():
    """A checkpoint in a checkpoint: the same gradients; and of 16 layers at most 9 outputs are held at once:
    for each of 4 halvings the input and the gradient that came, and an output."""
    grads = []
    for build in (lambda layers: nn.Sequential(*layers), modules.Halves):
        layers = [nn.Linear(2, 2) for _ in range(8)]
        for number, layer in enumerate(layers):
            nn.init.constant_(layer.weight, 0.25 + number / 16)
            nn.init.constant_(layer.bias, 1.0)
        build(layers)(torch.ones(1, 2)).sum().backward()
        grads.append([p.grad.tolist() for layer in layers for p in layer.parameters()])
    assert grads[0] == grads[1], "8 layers: the gradients are not those without checkpoints"
    return MeasuredCost(
        modules.peak(modules.Halves, 16),
        9,
        1.03,
        " outputs",
        "16 layers, halved four times",
        "halving",
    )


# --------------------------------------------------------------------------------- what it costs


@lamp("memory")
def memory():
    """Of 4, 7, 16 and 64 layers as little is held at once as equal segments can do, which is 2√n; afterwards nothing is."""
    found = []
    for count in (4, 7, 16, 64):
        ends = recompute.cuts(count)
        assert ends[0] == 0 and ends[-1] == count and ends == sorted({*ends}), (
            f"cuts({count}) is {ends}, expected rising numbers from 0 to {count}"
        )
        most, left = modules.held(recompute.Segments, count)
        assert left < 0.1, f"{count} layers: after backward {left:.1f} outputs are still held"
        where = f"{count} layers, cut at {ends}"
        found.append(
            MeasuredCost(most, modules.least(count), 1.03, " outputs", where, "equal segments")
        )
    return max(found, key=lambda cost: cost.ratio)


@lamp("time", star=3)
def time():
    """Forward 1 ms, backward 2: a layer is computed twice at most, and those of the last segment once."""
    found = []
    for count in (4, 7, 16):
        ends = recompute.cuts(count)
        again = count - (ends[-1] - ends[-2])
        total = modules.milliseconds(recompute.Segments, count)
        where = f"{count} layers, cut at {ends}"
        found.append(
            MeasuredCost(total, 3 * count + again, unit=" ms", where=where, least_of="your cuts")
        )
    return max(found, key=lambda cost: cost.ratio)


# -------------------------------------------------------------------------------------- round it


@lamp("small updates")
def updates():
    """512 steps of 1/1024 lead from 1 to 1/2; each float32 copy is of before the rounding, and on one rank only."""
    for size in SIZES:

        def program():
            model = rounded.Slopes(1.0, 1 + 2.0**-12, 3.0)
            mixed = recompute.Mixed(model, rounded.plain(2.0**-10), torch.bfloat16, 1.0, 10**6)
            first = [master.item() for master in mixed.masters.values()]
            for _ in range(512):
                rounded.step(mixed, model, [1.0, 0.0, -1.0])
            return first, [w.item() for w in model.ws], str(model.ws[0].dtype)

        results = rounded.mixed_over(size, program)
        copies = sorted(value for first, *_ in results for value in first)
        assert copies == [1.0, 1 + 2.0**-12, 3.0], (
            f"{lab.ranks(size)}, weights of 1, {1 + 2.0**-12} and 3: the float32 copies of all ranks together are "
            f"{copies}; each weight should be there once, as it was before it was rounded"
        )
        for rank, (_, weights, dtype) in enumerate(results):
            assert dtype == "torch.bfloat16", f"the model is in {dtype}, expected bfloat16"
            assert weights == [0.5, 1.0, 3.5], (
                f"{lab.ranks(size)}, bfloat16, 512 steps of 1/1024 down, none and up: rank {rank}'s weights are {weights}, "
                "expected [0.5, 1.0, 3.5]. Which number does a step change, and has it enough bits?"
            )


@lamp("sums")
def sums():
    """Gradients are added in float32, and only there divided by the scale: 256 + 1 + 1, 60000 three times, and 2⁻³⁰."""
    cases = [
        (
            "bfloat16, rank 0 has 256 and the others 1",
            torch.bfloat16,
            1.0,
            lambda r: 256.0 if r == 0 else 1.0,
        ),
        ("float16, each rank has 60000", torch.float16, 1.0, lambda r: 60000.0),
        ("float16, scale 65536, each rank has 2⁻³⁰", torch.float16, 2.0**16, lambda r: 2.0**-30),
    ]
    for size in SIZES:
        for said, dtype, scale, slope in cases:

            def program(dtype, scale, slope):
                model = rounded.Slopes(0.0)
                mixed = recompute.Mixed(model, rounded.plain(1.0), dtype, scale, 10**6)
                rounded.step(mixed, model, [slope(dist.get_rank())])
                return [-master.item() for master in mixed.masters.values()]

            (found,) = (
                value
                for values in rounded.mixed_over(size, program, dtype, scale, slope)
                for value in values
            )
            exactly = sum(map(slope, range(size))) / size
            assert abs(found - exactly) <= exactly * 1e-6, (
                f"{lab.ranks(size)}; {said}: the average is {found:g}, expected {exactly:g}"
            )


@lamp("together", star=2)
def together():
    """If one number on one rank is inf or nan, no rank steps, all halve the scale, and all go on together."""
    for size in SIZES:
        for victim in range(size):
            for bad in (math.inf, -math.inf, math.nan):
                for place in (0, 1):
                    results = rounded.mixed_over(size, rounded.skips, victim, bad, place)
                    said = f"{lab.ranks(size)}, two weights; on rank {victim} the gradient of weight {place} is {bad}"
                    for rank, found in enumerate(results):
                        assert found == (False, [2.0, 2.0], 4.0, True, [1.5, 1.5], 4.0), (
                            f"{said}. On rank {rank} (did it step, the weights, the scale), then the same after a good step, "
                            f"are {found}, expected (False, [2.0, 2.0], 4.0, True, [1.5, 1.5], 4.0)"
                        )


@lamp("scale", star=2)
def scale():
    """Half after each bad step; twice after 3 good ones in a row, and then 3 more are needed."""
    steps = "ggg gg b gg b b ggg ggg g"
    wanted = [8, 8, 16, 16, 16, 8, 8, 8, 4, 2, 2, 2, 4, 4, 4, 8, 8]
    for size in (1, 3):

        def program():
            model, found = rounded.Slopes(2.0), []
            mixed = recompute.Mixed(model, rounded.plain(0.0), torch.float16, 8.0, 3)
            for kind in steps.replace(" ", ""):
                rounded.step(mixed, model, [1.0 if kind == "g" else math.inf])
                found.append(mixed.scale)
            return found

        for found in rounded.mixed_over(size, program):
            assert found == wanted, (
                f"{lab.ranks(size)}, scale 8, patience 3, good and bad steps {steps}: the scales are {found}, "
                f"expected {wanted}"
            )


# ------------------------------------------------------------------------------------- it trains


@lamp("trains", star=3)
def trains():
    """Ranks with Adam in float16 end with the same weights, and with a loss within a twentieth of that in float32."""
    wanted = rounded.in_float32()
    for size in SIZES:
        results = rounded.mixed_over(size, rounded.of_ranks)
        for rank, (found, weights) in enumerate(results):
            assert exact.same(weights, results[0][1]), (
                f"{lab.ranks(size)}: after 60 steps rank {rank} has other weights than rank 0"
            )
            assert abs(found - wanted) < wanted / 20, (
                f"{lab.ranks(size)}: after 60 steps the loss is {found:.3f}, and in float32 {wanted:.3f}"
            )


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


# ------------------------------------------------------------------------------------- questions


def held_of_64():
    return round(modules.peak(recompute.Segments, 64))


def percent_longer():
    return 100 * (modules.milliseconds(recompute.Segments, 16) / 48 - 1)


def weight_of_512_steps():
    """Without a copy in float32."""
    weight = torch.ones(1, dtype=torch.bfloat16)
    for _ in range(512):
        weight -= 2.0**-10
    return weight.item()


# --------------------------------------------------------------------------------------- picture


class Noted(nn.Module):
    """A layer that notes what is held after its forward, and again after its backward."""

    def __init__(self, log):
        super().__init__()
        self.layer, self.log = SquareLayer(modules.SIDE, "1ms", "2ms").to("cuda"), log

    def forward(self, x):
        out = self.layer(x)
        self.note()
        if out.requires_grad:
            out.register_hook(lambda gradient: self.note())
        return out

    def note(self):
        self.log.append((sim.now() * 1000, cuda.memory_allocated()))


def silhouette(build, count):
    """How much is held in each ms, in outputs of a layer."""

    def program():
        log = []
        model = build([Noted(log) for _ in range(count)])
        x = torch.ones(modules.ROWS, modules.SIDE, dtype=torch.float64, device="cuda")
        begin = cuda.memory_allocated()
        model(x).sum().backward()
        end = round(sim.now() * 1000)
        rows = []
        for ms in range(end):
            past = [value for at, value in log if at <= ms + 1]
            rows.append(round((past[-1] - begin) / x.nbytes) if past else 0)
        return rows

    return sim.run(program, 1, memory="1GB").results[0]


LEVELS = " ▁▂▃▄▅▆▇█"


def picture():
    """How much is held while 16 layers go forward and backward; a column is 1 ms."""
    lines = [
        "16 layers, forward 1 ms, backward 2; a column is 1 ms, its height what is held",
        "",
    ]
    for title, build in (
        ("all", lambda layers: nn.Sequential(*layers)),
        ("segments", recompute.Segments),
    ):
        rows = silhouette(build, 16)
        lines += [f"{title:8}" + "".join(LEVELS[min(8, (value + 1) // 2)] for value in rows)]
        lines += [f"{'':8}{len(rows)} ms, at most {round(modules.peak(build, 16))} outputs", ""]
    lines += ["a weight of 1, and steps of -1/1024"]
    weight = torch.ones(1, dtype=torch.bfloat16) - 2.0**-10
    lines += [
        f"in bfloat16 after one step   {weight.item()}",
        "in float32 after one step    0.9990234375",
    ]
    return "\n".join(lines)
