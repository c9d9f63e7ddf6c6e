"""Helpers of the visible and the hidden checks of tensor parallelism.

The expected results need no right answer: a sum over ranks is a sum, and a split layer must give torch's result for the whole layer. The
grader counts the messages between the ranks. Sums that are compared exactly are of small whole numbers, which no dtype rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.authoring import CheckFailed, Suspects, close, equal, that
from autograder.checking.checks.test_transformer import small_config, small_layer, small_weights
from course.kit import Config, LayerWeights, Weights
from course.kit.ranks import Communicator, Traffic

LOW = (torch.float16, torch.bfloat16)


def everywhere(student: Any, world: int, name: str, *args: Any, **options: Any) -> tuple[list[Any], Traffic]:
    """Call a function on `world` ranks. args: a list has a value for each rank; anything else is passed to all ranks."""
    each = [tuple(a[rank] if isinstance(a, list) else a for a in args) for rank in range(world)]
    return student.ranks(world).each(name, each, **options)


def of_one_rank() -> Communicator:
    """Return the communicator of one rank alone, which sends nothing."""
    return Communicator(0, 1, lambda dst, tensor: None, lambda src: torch.empty(0))


def one_rank_again(student: Any, name: str, args: list[Any], then: list[Any]) -> tuple[Any, Any]:
    """Return the results of two calls with world size 1. Before the second call, `then` is written into the first call's tensors."""
    alone = of_one_rank()
    return getattr(student, name).again([*args, alone], [*then, alone])


def whole(rng: torch.Generator, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return random integers from -9 to 9, whose sums are exact in every dtype."""
    return torch.randint(-9, 10, shape, generator=rng).to(dtype)


def normal(rng: torch.Generator, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=rng, dtype=torch.float64).to(dtype)


def alike(results: list[Any]) -> None:
    """Fail unless every rank has the same tensor, bit for bit."""
    for rank, result in enumerate(results):
        where = f"rank {rank} has another result than rank 0"
        that(isinstance(result, Tensor), "the result is not a tensor", expected="a torch.Tensor", got=getattr(result, "type_name", result))
        equal([list(result.shape), str(result.dtype)], [list(results[0].shape), str(results[0].dtype)], what=where)
        if not torch.equal(result, results[0]):
            off = float((result.double() - results[0].double()).abs().max())
            raise CheckFailed(where, expected="the same bits on every rank", got=f"up to {off:.3g} apart", values=[*results])


def on_all(
    results: list[Any], want: Tensor, *, atol: float = 0.0, rtol: float = 0.0, dtype: torch.dtype | None = None, suspects: Suspects = ()
) -> None:
    """Fail unless every rank has `want`, and all ranks have the same bits."""
    for result in results:
        close(result, want, atol=atol, rtol=rtol, dtype=dtype, suspects=suspects)
    alike(results)


def ring_traffic(traffic: Traffic, messages: int, num_bytes: int) -> None:
    """Fail unless every rank has sent this number of messages, with this number of bytes in all, and only to its right neighbour."""
    world = traffic.world
    wrong = sorted({(src, dst) for src, dst, _ in traffic.log if dst != (src + 1) % world})
    that(not wrong, "a message that does not go to the right neighbour", expected=f"rank r sends to rank (r + 1) % {world} only",
         got=", ".join(f"rank {src} to rank {dst}" for src, dst in wrong[:4]))  # fmt: skip
    for rank in range(world):
        what = f"rank {rank} of {world} sends another number of messages than expected"
        that(traffic.messages[rank] == messages, what, expected=messages, got=traffic.messages[rank])
        what = f"rank {rank} of {world} sends another number of bytes than expected, in {messages} messages"
        that(traffic.sent_bytes[rank] == num_bytes, what, expected=num_bytes, got=traffic.sent_bytes[rank])


def reduce_traffic(traffic: Traffic, x: Tensor, times: int = 1) -> None:
    """Fail unless the traffic is that of `times` ring all-reduces of a tensor like x."""
    world = traffic.world
    part = -(-x.numel() // world) * x.element_size()
    ring_traffic(traffic, 2 * (world - 1) * times, 2 * (world - 1) * part * times)


def scattered_wrongly(parts: list[Any], xs: list[Tensor]) -> list[Suspects]:
    """Return each rank's suspects (result, sentence) of a reduce-scatter. parts: the results of all ranks.

    A sentence is left out unless every rank has its result: on one rank alone a number may agree by chance.
    """
    world, total = len(xs), sum(xs[1:], xs[0])

    def part(x: Tensor, rank: int) -> Tensor:
        return cut(x, rank % world, world, 0)

    first = "If a rank sends its own part first, that part ends at the left neighbour."
    kinds: list[tuple[Callable[[int], Tensor], str]] = [
        (lambda rank: part(total, rank + 1), f"The sum is complete, but it is part rank + 1, the right neighbour's. {first}"),
        (lambda rank: part(xs[rank], rank), f"This is the rank's own part of x, to which nothing was added. {first}"),
        (
            lambda rank: part(total - xs[(rank + 1) % world], rank + 1),
            "This is part rank + 1 without the numbers of rank + 1, to which the sum of that part goes on.",
        ),
        (
            lambda rank: sum((part(x, other) for other, x in enumerate(xs)), torch.zeros_like(part(total, rank))),
            "This is the sum of every rank's own part; the terms of a sum are the same part of every x.",
        ),
        (
            lambda rank: part(total - xs[(rank + 1) % world], rank) + part(xs[(rank + 1) % world], rank + 1),
            "One term is of another part: rank + 1 sends its own part first, and the other ranks add part `rank` to it.",
        ),
    ]
    suspects: list[list[tuple[Any, str]]] = [[] for _ in xs]
    for kind, cause in kinds:
        forms = [kind(rank) for rank in range(world)]
        if all(
            isinstance(got, Tensor) and got.shape == form.shape and bool((got == form).all())
            for got, form in zip(parts, forms, strict=True)
        ):
            for here, form in zip(suspects, forms, strict=True):
                here.append((form, cause))
    return list(suspects)


# ---- layers ----------------------------------------------------------------------------------------------------------


def config_of(H: int, K: int, *, Dh: int = 4, F: int = 24, D: int = 20, **more: Any) -> Config:
    """Return a small model's shape in which no two sizes are the same by chance: D is not H * Dh."""
    sizes = {"num_attention_heads": H, "num_key_value_heads": K, "head_dim": Dh, "intermediate_size": F, "hidden_size": D, "vocab_size": 36}
    return small_config(**{**sizes, **more})


def layer_of(rng: torch.Generator, config: Config, dtype: torch.dtype = torch.float64) -> LayerWeights:
    return small_layer(rng, config, dtype)


def weights_of(rng: torch.Generator, config: Config, dtype: torch.dtype = torch.float64) -> Weights:
    return small_weights(rng, config).to(device="cpu", dtype=dtype)


def kv_heads(config: Config, rank: int, world: int) -> list[int]:
    """Return the key/value heads that the rank's query heads read."""
    H, K = config.num_attention_heads, config.num_key_value_heads
    mine = range(rank * (H // world), (rank + 1) * (H // world))
    return sorted({h // (H // K) for h in mine})


def fits(H: int, K: int, world: int) -> bool:
    return H % world == 0 and (K % world == 0 or world % K == 0)


def cut(matrix: Tensor, rank: int, world: int, dim: int) -> Tensor:
    return matrix.chunk(world, dim)[rank]


def a_view(function: Any, before: Tensor, after: Tensor, rank: int, world: int, dim: int) -> None:
    """Fail unless a rank's part of `before` is a view.

    After the call the numbers of `after` are written into the matrix, and the part must show them.
    """
    stale = cut(before, rank, world, dim)
    for part in function.again([before, rank, world], [after, rank, world]):
        copied = isinstance(part, Tensor) and part.shape == stale.shape and torch.equal(part, stale)
        what = "the part is a copy: other numbers in the matrix do not show in it; wrong part" if copied else "wrong part"
        close(part, cut(after, rank, world, dim), atol=0.0, rtol=0.0, what=what)


def cut_layer(layer: LayerWeights, config: Config, rank: int, world: int) -> LayerWeights:
    """Return a rank's expected part of a layer, put together head by head."""
    Dh, heads = config.head_dim, kv_heads(config, rank, world)
    return LayerWeights(
        layer.input_layernorm,
        cut(layer.q_proj, rank, world, 0),
        torch.cat([layer.k_proj[h * Dh : (h + 1) * Dh] for h in heads]),
        torch.cat([layer.v_proj[h * Dh : (h + 1) * Dh] for h in heads]),
        cut(layer.o_proj, rank, world, 1),
        layer.post_attention_layernorm,
        cut(layer.gate_proj, rank, world, 0),
        cut(layer.up_proj, rank, world, 0),
        cut(layer.down_proj, rank, world, 1),
    )


def cut_model(weights: Weights, config: Config, rank: int, world: int) -> Weights:
    embed = cut(weights.embed_tokens, rank, world, 0)
    tied = weights.lm_head is weights.embed_tokens
    layers = [cut_layer(layer, config, rank, world) for layer in weights.layers]
    return Weights(embed, layers, weights.norm, embed if tied else cut(weights.lm_head, rank, world, 0))


def same_layer(got: Any, want: LayerWeights, what: str = "") -> None:
    """Fail unless every matrix is the expected one, bit for bit and in its dtype."""
    name = getattr(got, "type_name", type(got).__name__)
    that(name == "LayerWeights", "the result is no LayerWeights", expected="a LayerWeights", got=name)
    for name, tensor in vars(want).items():
        mine = getattr(got, name)
        close(mine, tensor, atol=0.0, rtol=0.0, dtype=tensor.dtype, what=f"wrong {name}{what}")


def unchanged(before: LayerWeights | Weights, after: Any) -> None:
    """Fail if a call changed its weights. after: the weights after the call, or a handle of them."""
    pairs = zip(_tensors(before), _tensors(after), strict=True)
    that(all(torch.equal(old, new) for old, new in pairs), "the weights that were given are changed",
         cause="The caller's weights are other ones now: work on a copy.")  # fmt: skip


def _tensors(weights: Any) -> list[Tensor]:
    if getattr(weights, "type_name", type(weights).__name__) == "LayerWeights":
        return [getattr(weights, field.name) for field in fields(LayerWeights)]
    layers = [tensor for layer in weights.layers for tensor in _tensors(layer)]
    return [weights.embed_tokens, *layers, weights.norm, weights.lm_head]


def turned(states: Tensor, positions: Tensor, base: float) -> Tensor:
    half = states.shape[-1] // 2
    angles = (positions.double()[..., None] * base ** (-torch.arange(half, dtype=torch.float64) / half)).unsqueeze(-3)
    first, second = states[..., :half], states[..., half:]
    return torch.cat((first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()), dim=-1)


def heads_apart(rows: Tensor, head_dim: int) -> Tensor:
    """(B, T, H * Dh) -> (B, H, T, Dh)."""
    return torch.stack(rows.split(head_dim, dim=-1), dim=1)


def heads_joined(read: Tensor) -> Tensor:
    """(B, H, T, Dh) -> (B, T, H * Dh)."""
    return torch.cat(read.unbind(1), dim=-1)


def attended(
    x: Tensor,
    layer: LayerWeights,
    config: Config,
    positions: Tensor,
    mask: Tensor,
    apart: Callable[[Tensor, int], Tensor] = heads_apart,
    joined: Callable[[Tensor], Tensor] = heads_joined,
) -> Tensor:
    """Return the whole layer's attention by torch, in float64. apart, joined: the functions that split heads and merge them."""
    x, w = x.double(), {name: tensor.double() for name, tensor in vars(layer).items()}
    q, k, v = (apart(x @ w[name].T, config.head_dim) for name in ("q_proj", "k_proj", "v_proj"))
    q, k = (turned(states, positions, config.rope_theta) for states in (q, k))
    read = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    return joined(read) @ w["o_proj"].T


def attended_wrongly(x: Tensor, layer: LayerWeights, config: Config, positions: Tensor, mask: Tensor, world: int) -> Suspects:
    """Return suspects (result, sentence): ranks that split their parts into other heads, or merge heads in another order."""
    B, T, _ = x.shape
    counts = "These are as many heads as the whole model has: a rank has H / world query heads, and the key/value heads of `kv_heads_of`."
    split = "Queries, keys and values are split wrongly: a head has head_dim numbers of every token that follow one another."
    merged = "The heads are merged in another order than the columns of o_proj have: a token's first head, then its second."

    def reshaped(rows: Tensor, head_dim: int) -> Tensor:
        return rows.reshape(B, -1, T, head_dim)

    def dealt(rows: Tensor, head_dim: int) -> Tensor:
        return rows.unflatten(-1, (head_dim, -1)).permute(0, 3, 1, 2)

    def in_a_row(read: Tensor) -> Tensor:
        return read.reshape(B, T, -1)

    def number_by_number(read: Tensor) -> Tensor:
        return read.permute(0, 2, 3, 1).flatten(2)

    narrow = replace(config, head_dim=config.head_dim // world)
    kinds = (
        (narrow, heads_apart, heads_joined, counts),
        (config, reshaped, heads_joined, split),
        (config, dealt, heads_joined, split),
        (config, reshaped, in_a_row, split),
        (config, dealt, number_by_number, split),
        (config, heads_apart, in_a_row, merged),
        (config, heads_apart, number_by_number, merged),
    )
    shards = [cut_layer(layer, config, rank, world) for rank in range(world)]
    return [
        (torch.stack([attended(x, shard, shape, positions, mask, apart, joined) for shard in shards]).sum(dim=0), cause)
        for shape, apart, joined, cause in kinds
    ]


def with_other_rows(table: Tensor, ids: Tensor, world: int) -> Suspects:
    """Return suspects (result, sentence): a rank without the token's row adds another row of its part, instead of 0."""
    size = len(table) // world
    cause = "A rank that does not have a token's row has added another row of its part: it has to add 0."
    local = [(cut(table, rank, world, 0), ids - rank * size) for rank in range(world)]

    def first(place: Tensor) -> Tensor:
        return place.where((place >= 0) & (place < size), torch.zeros_like(place))

    kinds = (lambda place: place.clamp(0, size - 1), lambda place: place % size, first)
    found = [torch.stack([part[kind(place)] for part, place in local]).sum(dim=0) for kind in kinds]
    return [(rows, cause) for rows in found if not torch.equal(rows, table[ids])]  # one rank has every row: there is none to add


def fed(x: Tensor, layer: LayerWeights) -> Tensor:
    """Return the whole layer's feed-forward by torch, in float64."""
    x, gate, up, down = (tensor.double() for tensor in (x, layer.gate_proj, layer.up_proj, layer.down_proj))
    return (F.silu(x @ gate.T) * (x @ up.T)) @ down.T


def causal(T: int) -> Tensor:
    return torch.ones(T, T, dtype=torch.bool).tril()


def logits_of(weights: Weights, config: Config, ids: Tensor) -> Tensor:
    """Return the logits of the whole model by torch, in float64."""
    x = weights.embed_tokens.double()[ids]
    for layer in weights.layers:
        x = x + attended(_normed(x, layer.input_layernorm, config), layer, config, torch.arange(ids.shape[1]), causal(ids.shape[1]))
        x = x + fed(_normed(x, layer.post_attention_layernorm, config), layer)
    return _normed(x, weights.norm, config) @ weights.lm_head.double().T


def _normed(x: Tensor, weight: Tensor, config: Config) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], weight.double(), config.rms_norm_eps)


def some(config: Config, rng: torch.Generator, B: int, T: int) -> Tensor:
    return torch.randint(0, config.vocab_size, (B, T), generator=rng)


# ---- seconds ---------------------------------------------------------------------------------------------------------


def exact(got: Any, want: float, what: str | None = None, **more: Any) -> None:
    close(got, want, atol=0.0, rtol=1e-9, what=what, **more)


def around_a_ring(num_bytes: float, world: int, link_bandwidth: float, latency: float) -> float:
    """Return the seconds of a ring all-reduce, added up over the steps of a reduce-scatter, then of an all-gather."""
    seconds = 0.0
    for _phase in ("reduce-scatter", "all-gather"):
        for _step in range(world - 1):
            seconds += latency + (num_bytes / world) / link_bandwidth
    return seconds


def idle_share(stages: int, microbatches: int) -> float:
    """Return the idle share, from a timetable: stage s works on microbatch m at time s + m."""
    times = microbatches + stages - 1
    busy = {(stage, stage + batch) for stage in range(stages) for batch in range(microbatches)}
    return 1 - len(busy) / (stages * times)
