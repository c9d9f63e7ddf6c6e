"""Tensor parallelism: a layer's matrices cut among ranks, and what must then travel between them.

A matrix is stored as (out, in) and a layer computes y = x W^T. The literature's Y = XA has A = W^T, so its "column parallel" cuts the
rows of what is stored: each rank has some of the outputs. "Row parallel" cuts the inputs: each rank has a part of every output's sum.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from course.kit import Config, LayerWeights, Weights
from course.kit.ranks import Communicator
from solutions.attention import attention, causal_mask, merge_heads, rotary, split_heads
from solutions.transformer import feed_forward, rms_norm


def column_shard(weight: Tensor, rank: int, world: int) -> Tensor:
    """Return the rows of a stored matrix that one rank holds: some of its outputs ("column parallel" in the literature's Y = XA).

    weight (out, in) of any memory layout -> (out/world, in): part number `rank` of `world` equal parts that follow one another. A view:
    nothing is copied. Raises ValueError, naming out, unless world divides it. Shoeybi et al. 2019, section 3.
    """
    ### BEGIN SOLUTION
    out = weight.shape[0]
    if out % world:
        raise ValueError(f"{out} outputs cannot be divided among {world} ranks")
    return weight[rank * out // world : (rank + 1) * out // world]
    ### END SOLUTION


def row_shard(weight: Tensor, rank: int, world: int) -> Tensor:
    """Return the columns of a stored matrix that one rank holds: some of its inputs ("row parallel" in the literature's Y = XA).

    weight (out, in) of any memory layout -> (out, in/world): part number `rank` of `world` equal parts that follow one another. A view:
    nothing is copied. Raises ValueError, naming in, unless world divides it. Shoeybi et al. 2019, section 3.
    """
    ### BEGIN SOLUTION
    inputs = weight.shape[1]
    if inputs % world:
        raise ValueError(f"{inputs} inputs cannot be divided among {world} ranks")
    return weight[:, rank * inputs // world : (rank + 1) * inputs // world]
    ### END SOLUTION


def kv_heads_of(config: Config, rank: int, world: int) -> range:
    """Return which key/value heads a rank holds: those that its H/world query heads read. Query head h reads key/value head h // (H/K).

    Up to K ranks have K/world heads each. More ranks have one head each, and world/K neighbours hold copies of the same one.
    Raises ValueError, naming the number of heads that does not fit, unless world divides H, and world divides K or K divides world.
    """
    ### BEGIN SOLUTION
    H, K = config.num_attention_heads, config.num_key_value_heads
    if H % world or (K % world and world % K):
        raise ValueError(f"{H} query heads and {K} key/value heads cannot be divided among {world} ranks")
    first = rank * K // world
    return range(first, first + max(K // world, 1))
    ### END SOLUTION


def shard_layer(layer: LayerWeights, config: Config, rank: int, world: int) -> LayerWeights:
    """Return one rank's part of a layer.

    q_proj, gate_proj and up_proj are cut by `column_shard`, o_proj and down_proj by `row_shard`. k_proj and v_proj keep the rows of the
    heads in `kv_heads_of`, in their order. Every rank has both norms whole. The layer that is given is not changed. Raises ValueError,
    naming the number, if the heads or the feed-forward width cannot be divided.
    """
    ### BEGIN SOLUTION
    heads = kv_heads_of(config, rank, world)
    rows = slice(heads.start * config.head_dim, heads.stop * config.head_dim)
    return LayerWeights(
        input_layernorm=layer.input_layernorm,
        q_proj=column_shard(layer.q_proj, rank, world),
        k_proj=layer.k_proj[rows],
        v_proj=layer.v_proj[rows],
        o_proj=row_shard(layer.o_proj, rank, world),
        post_attention_layernorm=layer.post_attention_layernorm,
        gate_proj=column_shard(layer.gate_proj, rank, world),
        up_proj=column_shard(layer.up_proj, rank, world),
        down_proj=row_shard(layer.down_proj, rank, world),
    )
    ### END SOLUTION


def shard_model(weights: Weights, config: Config, rank: int, world: int) -> Weights:
    """Return one rank's part of a model: each layer by `shard_layer`, embed_tokens and lm_head by `column_shard`, the last norm whole.

    A tied head stays tied. Raises ValueError, naming it, where the heads, the feed-forward width or the vocabulary cannot be divided.
    """
    embed_tokens = column_shard(weights.embed_tokens, rank, world)
    tied = weights.lm_head is weights.embed_tokens
    return Weights(
        embed_tokens=embed_tokens,
        layers=[shard_layer(layer, config, rank, world) for layer in weights.layers],
        norm=weights.norm,
        lm_head=embed_tokens if tied else column_shard(weights.lm_head, rank, world),
    )


def ring_reduce_scatter(x: Tensor, comm: Communicator) -> Tensor:
    """Add up all ranks' x, and return one part of the sum on each rank.

    x (n,), equally long on every rank, n a multiple of world -> (n/world,), same dtype: part number `rank` of world equal parts. Each
    rank sends world - 1 times a part in x's dtype to its right neighbour, rank + 1, and receives as often from its left one, rank - 1; the
    last rank's right neighbour is rank 0. x is not changed. One rank alone sends nothing. Patarasuk and Yuan 2009.
    """
    ### BEGIN SOLUTION
    right, left = (comm.rank + 1) % comm.world, (comm.rank - 1) % comm.world
    parts = x.chunk(comm.world)
    # A part begins one rank to the right of its owner, and goes once around: every rank adds its own, the owner last.
    total = parts[left]
    for step in range(2, comm.world + 1):
        comm.send(right, total)
        total = comm.recv(left) + parts[(comm.rank - step) % comm.world]
    return total
    ### END SOLUTION


def ring_all_gather(chunk: Tensor, comm: Communicator) -> list[Tensor]:
    """Return every rank's chunk, on every rank, in rank order.

    chunk of any shape, the same on every rank -> world tensors of this shape and dtype, no two of which share memory. Each rank sends
    world - 1 chunks to its right neighbour, rank + 1, and receives as many from its left one, rank - 1; the last rank's right neighbour
    is rank 0. chunk is not changed, but may itself be in the list. One rank alone sends nothing.
    """
    ### BEGIN SOLUTION
    right, left = (comm.rank + 1) % comm.world, (comm.rank - 1) % comm.world
    chunks = [chunk] * comm.world
    for step in range(1, comm.world):
        comm.send(right, chunk)
        chunk = comm.recv(left)  # it has come from `step` ranks to the left
        chunks[(comm.rank - step) % comm.world] = chunk
    return chunks
    ### END SOLUTION


def ring_all_reduce(x: Tensor, comm: Communicator) -> Tensor:
    """Return the sum of all ranks' x, on every rank, bit for bit the same: a reduce-scatter and an all-gather around the ring.

    x of any shape, not empty, the same on every rank -> that shape and dtype. It is sent in its dtype as a row of numbers, followed by as
    few zeros as make its length a multiple of world: 2 (world - 1) messages of 1/world of that row from each rank, all to the right
    neighbour. x is not changed and need not be contiguous. One rank alone sends nothing. Patarasuk and Yuan 2009.
    """
    ### BEGIN SOLUTION
    row = x.flatten()
    padded = pad(row, (0, -len(row) % comm.world))
    total = torch.cat(ring_all_gather(ring_reduce_scatter(padded, comm), comm))
    return total[: len(row)].view(x.shape)
    ### END SOLUTION


def parallel_attention(x: Tensor, layer: LayerWeights, config: Config, positions: Tensor, mask: Tensor, comm: Communicator) -> Tensor:
    """Compute what attention adds to the tokens of a layer, on all ranks together: each has some heads, and one all-reduce adds up.

    x (B, T, D), already normed and the same on every rank; layer: this rank's part, from `shard_layer`; config: the whole model's;
    positions (T,) or (B, T), by which queries and keys turn with base config.rope_theta; mask: bool, broadcasts to (B, 1, T, T), the same
    for all heads, True where a query may see a key -> (B, T, D), the product of all heads with the whole o_proj, bit for bit the same on
    every rank, in x's dtype. x need not be contiguous. Nothing else is sent, and the arguments are not changed. Shoeybi et al. 2019,
    section 3.
    """
    ### BEGIN SOLUTION
    H = config.num_attention_heads // comm.world
    K = len(kv_heads_of(config, comm.rank, comm.world))
    q = rotary(split_heads(x @ layer.q_proj.T, H), positions, config.rope_theta)  # (B, H/world, T, Dh)
    k = rotary(split_heads(x @ layer.k_proj.T, K), positions, config.rope_theta)
    v = split_heads(x @ layer.v_proj.T, K)
    read = merge_heads(attention(q, k, v, mask))  # (B, T, H/world * Dh)
    return ring_all_reduce(read @ layer.o_proj.T, comm)
    ### END SOLUTION


def parallel_feed_forward(x: Tensor, layer: LayerWeights, comm: Communicator) -> Tensor:
    """Compute a layer's feed-forward output on all ranks. Each rank computes its part of F, and one all-reduce adds the parts.

    x (B, T, D), already normed and the same on every rank; layer: this rank's part, from `shard_layer` -> (B, T, D), what `feed_forward`
    gives with the whole matrices, bit for bit the same on every rank, in x's dtype. x need not be contiguous. Nothing else is sent, and
    the arguments are not changed. Shoeybi et al. 2019, section 3.
    """
    ### BEGIN SOLUTION
    return ring_all_reduce(feed_forward(x, layer.gate_proj, layer.up_proj, layer.down_proj), comm)
    ### END SOLUTION


def vocab_parallel_embedding(table: Tensor, ids: Tensor, comm: Communicator) -> Tensor:
    """Return the embeddings of ids, each rank having the rows of some tokens: the others count 0 here, and one all-reduce adds up.

    table (V/world, D): this rank's rows, from `column_shard`; ids (B, T) int64 from 0 to V - 1, the same on every rank -> (B, T, D) of
    table's dtype, the same on every rank. A row that is not asked for adds 0 even if it holds inf or nan (0 times inf is nan). The
    arguments are not changed.
    """
    ### BEGIN SOLUTION
    local = ids - comm.rank * len(table)
    elsewhere = (local < 0) | (local >= len(table))
    rows = table[local.masked_fill(elsewhere, 0)]  # (B, T, D)
    return ring_all_reduce(rows.masked_fill(elsewhere.unsqueeze(-1), 0.0), comm)
    ### END SOLUTION


def vocab_parallel_logits(x: Tensor, head: Tensor, comm: Communicator) -> Tensor:
    """Return the scores of all tokens, each rank having the rows of some: one all-gather puts them side by side.

    x (..., D), the same on every rank; head (V/world, D): this rank's rows, from `column_shard` -> (..., V) of x's dtype, in the order of
    the ids, bit for bit the same on every rank. The arguments are not changed.
    """
    ### BEGIN SOLUTION
    return torch.cat(ring_all_gather(x @ head.T, comm), dim=-1)
    ### END SOLUTION


def vocab_parallel_argmax(x: Tensor, head: Tensor, comm: Communicator) -> Tensor:
    """Return the most probable token without ever sending the logits: each rank sends its best score, and the token that has it.

    x (B, D), the same on every rank; head (V/world, D): this rank's rows, from `column_shard` -> (B, 1) int64, the same on every rank.
    If scores tie, any of their tokens will do. A rank sends only its world - 1 messages of one all-gather, of two numbers, 16 bytes, for
    each row of x, and neither is rounded on the way. The arguments are not changed.
    """
    ### BEGIN SOLUTION
    best, token = (x @ head.T).max(dim=-1)  # (B,) both
    token = token + comm.rank * len(head)
    mine = torch.stack((best.double(), token.double()), dim=-1)  # (B, 2): float64 holds every id exactly
    scores, tokens = torch.stack(ring_all_gather(mine, comm), dim=1).unbind(dim=-1)  # (B, world) both
    return tokens.gather(1, scores.argmax(dim=1, keepdim=True)).long()
    ### END SOLUTION


def parallel_forward(shard: Weights, config: Config, ids: Tensor, comm: Communicator) -> Tensor:
    """Return the logits of all positions, computed by all ranks together.

    shard: this rank's part, from `shard_model`; config: the whole model's; ids (B, T), the same on every rank -> (B, T, V) in the weights'
    dtype, the same on every rank, on the ids' device. There is one all-reduce for the embeddings, two for each layer, and one all-gather
    for the logits; the residual stream and the norms are computed on every rank from the same numbers. The arguments are not changed.
    """
    ### BEGIN SOLUTION
    T = ids.shape[1]
    positions, mask = torch.arange(T, device=ids.device), causal_mask(T, T).to(ids.device)
    x = vocab_parallel_embedding(shard.embed_tokens, ids, comm)
    for layer in shard.layers:
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        x = x + parallel_attention(normed, layer, config, positions, mask, comm)
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + parallel_feed_forward(normed, layer, comm)
    return vocab_parallel_logits(rms_norm(x, shard.norm, config.rms_norm_eps), shard.lm_head, comm)
    ### END SOLUTION


def all_reduce_seconds(num_bytes: float, world: int, link_bandwidth: float, latency: float) -> float:
    """Return how long an all-reduce of num_bytes takes around a ring, with the messages of `ring_all_reduce`.

    link_bandwidth in bytes/s, one way; latency in seconds, once a message, even one of 0 bytes. One rank alone takes no time. Patarasuk
    and Yuan 2009.
    """
    ### BEGIN SOLUTION
    return 2 * (world - 1) * (latency + num_bytes / world / link_bandwidth)
    ### END SOLUTION


def one_shot_seconds(num_bytes: float, world: int, link_bandwidth: float, latency: float) -> float:
    """Return how long an all-reduce of num_bytes takes if each rank sends all of it to each other rank, and each adds up by itself.

    All messages of a rank leave through one link, one after the other, and only the last one's latency is waited for. link_bandwidth in
    bytes/s, one way; latency in seconds. One rank alone takes no time.
    """
    ### BEGIN SOLUTION
    return latency + (world - 1) * num_bytes / link_bandwidth if world > 1 else 0.0
    ### END SOLUTION


def tensor_parallel_seconds(
    weight_bytes: float,
    layers: int,
    width: int,
    rows: int,
    bytes_per_value: float,
    world: int,
    bandwidth: float,
    link_bandwidth: float,
    latency: float,
) -> float:
    """Return how long a step takes if it has so few rows that memory decides.

    Each rank reads 1/world of the weights, and then there are two ring all-reduces a layer. weight_bytes: of the whole model. An
    all-reduce is of rows * width values. bandwidth: of a rank's memory, in bytes/s; link_bandwidth in bytes/s, one way; latency in
    seconds, once a step of a ring. Reading and sending do not overlap. The messages for embeddings and logits are left out.
    """
    ### BEGIN SOLUTION
    reading = weight_bytes / world / bandwidth
    sending = 2 * layers * all_reduce_seconds(rows * width * bytes_per_value, world, link_bandwidth, latency)
    return reading + sending
    ### END SOLUTION


def pipeline_bubble(stages: int, microbatches: int) -> float:
    """Return the share of a pipeline's time in which a stage has nothing to do, from 0 to 1.

    All stages take equally long for a microbatch, and hand it on. The time runs from the first microbatch's start in the first stage to
    the last one's end in the last stage. Narayanan et al. 2021, section 2.2, divide the same idle time by m instead.
    """
    ### BEGIN SOLUTION
    return (stages - 1) / (microbatches + stages - 1)
    ### END SOLUTION
