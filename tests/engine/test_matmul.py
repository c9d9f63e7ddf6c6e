"""Products: the fastest way is chosen, no slower one and no wrong one, and the choice is printed."""

from collections import Counter
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import linear
from torch.utils._python_dispatch import TorchDispatchMode

from course.kit import load_model
from solutions.batching import generate_batch
from solutions.engine import Engine, PackedModel, Request, ServingEngine, StaticEngine
from solutions.engine.matmul import BOUNDS, FEWEST, LINEAR, SAMPLES, WAYS, Product, Products, Way, described

PROMPTS = [[5, 6, 7], list(range(20, 37)), list(range(100, 109)), [900]]
FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
NAMES = [way.name for way in WAYS]


def random(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


class Clock:
    """Goes on by a millisecond whenever it is read: so every product takes one, and what its own way adds."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1e-3
        return self.now


def way(clock, name, milliseconds, multiply=linear, fits=lambda weight: True):
    """A way that takes so long beside the one millisecond, with a form of its own."""

    def timed(x, prepared):
        clock.now += 1e-3 * (milliseconds(len(x)) if callable(milliseconds) else milliseconds)
        return multiply(x, prepared)

    return Way(name, name, lambda weight: weight, timed, fits=fits)


def chosen(*made, weights=None, clock=None):
    products = Products(ways=(LINEAR, *made), clock=clock, remembered={})
    made_products = products.make(weights or [random(24, 16, seed=i) for i in range(3)])
    return products, made_products


def test_the_fastest_is_kept_and_a_slower_one_is_not():
    clock = Clock()
    slow, fast, faster = way(clock, "slow", 5), way(clock, "fast", -0.4), way(clock, "faster", -0.7)
    assert chosen(slow, clock=clock)[0].choices == {(24, 16): ("linear",) * 4}
    assert chosen(slow, faster, fast, clock=clock)[0].choices == {(24, 16): ("faster",) * 4}
    assert chosen(way(clock, "hardly", -0.05), clock=clock)[0].choices == {(24, 16): ("linear",) * 4}  # not worth its memory


def test_each_number_of_rows_has_its_own():
    clock = Clock()
    few, many = way(clock, "few", lambda rows: -0.5 if rows <= 4 else 3), way(clock, "many", lambda rows: 3 if rows <= 4 else -0.5)
    products, made = chosen(few, many, clock=clock)
    assert products.choices == {(24, 16): ("few", "few", "many", "many")}
    calls = []
    forms = [replace(each, multiply=lambda x, prepared, name=each.name: calls.append(name) or linear(x, prepared)) for each in (few, many)]
    product = Product(random(24, 16), [forms[0], forms[0], forms[1], LINEAR])
    calls.clear()
    for rows in (1, 2, BOUNDS[1], BOUNDS[1] + 1, BOUNDS[2], BOUNDS[2] + 1):
        product(random(rows, 1, 16))
    assert calls == ["few", "few", "few", "many", "many"]  # and the last one linear
    assert all(each.names == products.choices[24, 16] for each in made)


def broken(x, prepared):
    raise RuntimeError("not on this machine")


WRONG = {
    "a hundred-thousandth too large": lambda x, prepared: linear(x, prepared) * 1.00001,
    "weights in float16": lambda x, prepared: linear(x, prepared.half().float()),
    "weights in bfloat16": lambda x, prepared: linear(x, prepared.bfloat16().float()),
    "one result lost": lambda x, prepared: torch.cat((linear(x, prepared)[:, :-1], torch.zeros(len(x), 1)), dim=1),
    "rows exchanged": lambda x, prepared: linear(x.flip(1), prepared),
    "nan": lambda x, prepared: linear(x, prepared) * float("nan"),
    "another dtype": lambda x, prepared: linear(x, prepared).double(),
    "another shape": lambda x, prepared: linear(x, prepared).T.contiguous(),
    "an error": broken,
    "wrong for a batch only": lambda x, prepared: linear(x, prepared) * (2 if len(x) > 8 else 1),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_one_is_never_kept_however_fast(name):
    clock = Clock()
    products, made = chosen(way(clock, "wrong", -0.9, WRONG[name]), clock=clock)
    for product in made:
        assert product.names == products.choices[24, 16] == ("linear",) * 4


def test_where_one_matrix_of_many_is_wrong_it_alone_is_multiplied_by_linear():
    clock = Clock()
    weights = [random(24, 16, seed=i) for i in range(6)]
    weights[4][3, 3] = 1e6
    clipped = way(clock, "clipped", -0.5, lambda x, prepared: linear(x, prepared.clamp(-1000, 1000)))
    _, made = chosen(clipped, weights=weights, clock=clock)
    assert [product.names[0] for product in made] == ["clipped"] * 4 + ["linear", "clipped"]
    named = Products("clipped", ways=(LINEAR, clipped)).make(weights)  # also where it was asked for
    assert [product.names[0] for product in named] == ["clipped"] * 4 + ["linear", "clipped"]


def test_float32_weights_are_kept_in_16_bits_only_where_nothing_is_lost():
    exact = random(40, 24).half().float()
    inexact = exact.clone()
    inexact[-1, -1] += 1e-6
    fp16 = next(way for way in WAYS if way.name == "fp16")
    assert fp16.fits(exact)
    assert not fp16.fits(inexact)
    assert not fp16.fits(exact * 1e6)
    assert set(Products("fp16").make([inexact])[0].names) == {"linear"}
    clock = Clock()
    hasty = replace(fp16, multiply=lambda x, prepared: setattr(clock, "now", clock.now - 0.0009) or fp16.multiply(x, prepared))
    assert set(chosen(hasty, weights=[inexact], clock=clock)[0].choices[40, 24]) == {"linear"}


def test_timing_ends_in_time():
    """However long a product takes, a way that has begun gets five turns, after one to warm up, and none begins when time is up."""
    clock, calls = Clock(), Counter()

    def slow(x, prepared):
        calls["slow"] += 1
        return linear(x, prepared)

    products, made = chosen(way(clock, "slow", 1e6, slow), clock=clock)
    checks = len(SAMPLES)
    assert calls["slow"] == checks + 1 + FEWEST
    assert made[0].names == ("linear",) * 4
    assert products.seconds < 1001 * calls["slow"] + 200


def test_what_was_chosen_is_reported_in_one_line():
    clock = Clock()
    few, many = way(clock, "few", lambda rows: -0.5 if rows <= 4 else 3), way(clock, "many", lambda rows: 3 if rows <= 4 else -0.5)
    products, _ = chosen(few, many, clock=clock)
    assert products.line == f"Products, timed in {products.seconds:.1f} s: 24x16 few at 1 to 8 rows, many above"
    assert Products("linear").line == "Products as asked for: "
    asked = Products("weight first")
    asked.make([random(24, 16)])
    asked.make([random(8, 24)])
    assert asked.line == "Products as asked for: 24x16 weight first; 8x24 weight first"
    assert described(("a", "a", "a", "a")) == "a"
    assert described(("a", "b", "b", "c")) == "a at 1 row, b at 2 to 32 rows, c above"
    assert described(("a", "b", "c", "c")) == "a at 1 row, b at 2 to 8 rows, c above"


def test_a_process_chooses_once():
    clock, remembered = Clock(), {}
    fast = way(clock, "fast", -0.5)
    first, second = (Products(ways=(LINEAR, fast), clock=clock, remembered=remembered) for _ in range(2))
    first.make([random(24, 16)])
    second.make([random(24, 16, seed=1)])
    assert first.choices == second.choices == {(24, 16): ("fast",) * 4}
    assert first.seconds > 0 == second.seconds
    assert second.line == "Products as timed before: 24x16 fast"


def test_a_way_that_is_none_is_refused():
    with pytest.raises(ValueError, match="'fastest'"):
        Products("fastest")
    with pytest.raises(ValueError, match="linear, weight first"):
        Engine("tiny", products="fastest")
    with pytest.raises(ValueError, match="linear, weight first"):
        Engine("smollm2", products="fastest")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("rows", SAMPLES)
def test_every_way_of_a_product_gives_the_same_numbers(rows, dtype, name):
    x, weight = random(rows, 1, 64, dtype=dtype), random(96, 64, dtype=dtype, seed=1)
    product = Products(name).make([weight.half().to(dtype)])[0]
    got = product(x)
    assert got.dtype == dtype
    assert got.is_contiguous()
    atol = {torch.bfloat16: 0.1, torch.float16: 0.02}.get(dtype, 1e-5)
    torch.testing.assert_close(got.double(), linear(x.double(), weight.half().double()), atol=atol, rtol=atol / 10)
    if dtype == torch.float32 and name == "packed" and torch.backends.mkldnn.is_available():
        assert set(product.names) == {"packed"}  # what this is about is done, where the machine can


@pytest.mark.parametrize("name", NAMES)
def test_every_way_gives_float32_the_same_tokens(name):
    exact = generate_batch(load_model("tiny", dtype=torch.float64).weights_only(), PROMPTS, max_new_tokens=20, temperature=0.0)
    packed = PackedModel(load_model("tiny").weights_only(), name)
    assert StaticEngine(packed, len(PROMPTS), max_len=40).generate(PROMPTS, 20).tolist() == exact
    served = ServingEngine(packed, num_blocks=40, block_size=4, token_budget=7, max_running=3)
    assert served.generate([Request(prompt, 20) for prompt in PROMPTS]) == exact


def test_an_engine_tells_its_choice(capsys):
    engine = Engine("tiny", threads=1, products="linear")
    assert set(engine.products.values()) == {("linear",) * 4}
    assert capsys.readouterr().out.splitlines()[1].startswith("Products as asked for: 256x128 linear; 128x128 linear; ")
    engine = Engine("tiny", threads=1)
    line = capsys.readouterr().out.splitlines()[1]
    assert [f"{out}x{width} {described(names)}" for (out, width), names in engine.products.items()] == line.partition(": ")[2].split("; ")


def test_what_is_in_a_librarys_order_is_not_compiled():
    made = StaticEngine(PackedModel(load_model("tiny").weights_only(), "transposed"), 1, max_len=8)
    with pytest.raises(ValueError, match="way='linear'"):
        made.compile_decode()


# ---- once a pass ---------------------------------------------------------------------------------------------------


class Operations(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count[function._schema.name.removeprefix("aten::").removesuffix("_")] += 1
        return function(*args, **(kwargs or {}))


def test_turns_and_masks_are_made_once_a_pass_and_not_in_every_layer():
    model = PackedModel(load_model("tiny").weights_only(), "linear")
    assert len(model.layers) > 2
    static = StaticEngine(model, len(PROMPTS), max_len=40)
    ids, num_pad = torch.ones(4, 9, dtype=torch.int64), torch.tensor([0, 3, 1, 8])
    for step in (lambda: static.prefill(ids, num_pad), lambda: static.decode(ids[:, :1])):
        with Operations() as seen:
            step()
        assert seen.count["masked_fill"] == 1
        assert seen.count["index"] <= 3  # cos, sin, and the embedding
        assert seen.count["neg"] + seen.count["where"] == 0
    static.prefill(ids)
    with Operations() as seen:
        static.decode(ids[:, :1])
    assert seen.count["masked_fill"] == 0  # without padding, nothing is to be hidden
    served = ServingEngine(model, num_blocks=40, block_size=4, max_running=4)
    for prompt in PROMPTS:
        served.add(Request(prompt, 3))
    served.step()
    with Operations() as seen:
        served.step()
    assert 1 <= seen.count["masked_fill"] <= len(PROMPTS)  # one for each group of texts of about one length


