"""One pass through the decoder as one compiled function, which every thread runs.

The threads meet at barriers, and divide the tiles and rows among them. The rows of a pass are any tokens, each with its sequence and
its position, as on Day 14. So one function does a decode step of a batch, a part of a prompt, and both at once.

The first amx_rows rows of a pass are multiplied by AMX, the others by the kernels that every instruction set has. Without AMX there are no
operands: numba sees None's type and leaves out the code for them, which LLVM could not compile for this processor.
"""

from __future__ import annotations

import numpy as np

from .amx import SIDE, attend_by_amx, configure, multiply4_by_amx, release, split, unpack_keys, unpack_values
from .compiled import compile_once
from .kernels import (
    BLOCK,
    from_half,
    meet,
    mixed_1,
    mixed_2,
    mixed_3,
    mixed_4,
    product4_2,
    product4_4,
    product4_8,
    product8_2,
    product8_4,
    product8_8,
    quantize,
    scores_1,
    scores_2,
    scores_3,
    scores_4,
    softmax,
    swiglu,
    to_half,
)

ROWS = 32
"""Rows of a prompt in one pass: their inputs stay in the fast caches while the weights stream by."""
AMX_ROWS = 128
"""Rows of a prompt in one pass with AMX, which unpacks the weights once a pass."""
HALF = 2


@compile_once
def share(count, thread, threads):
    return count * thread // threads, count * (thread + 1) // threads


@compile_once
def multiply4(isa, tiles, first, last, inputs, rows, out, blocks):
    """Multiply tiles first to last - 1 of a 4-bit weight by all rows of inputs, into the first `rows` rows of out.

    Each row has two rows of inputs, written by `quantize_twice`. The products of the second rows go to the other rows of out and are then
    added.
    """
    lanes, stride, out_stride = len(isa), blocks * BLOCK, out.strides[0]
    for tile in range(first, last):
        weight_ptr, out_ptr = tiles + tile * blocks * 20 * lanes, out.ctypes.data + (tile - first) * 4 * lanes
        r = 0
        while r < 2 * rows:
            input_ptr, row_out_ptr, remaining = inputs + r * stride, out_ptr + r * out_stride, 2 * rows - r
            if remaining >= 8:
                product4_8(isa, weight_ptr, input_ptr, stride, row_out_ptr, out_stride, blocks)
                r += 8
            elif remaining >= 4:
                product4_4(isa, weight_ptr, input_ptr, stride, row_out_ptr, out_stride, blocks)
                r += 4
            else:
                product4_2(isa, weight_ptr, input_ptr, stride, row_out_ptr, out_stride, blocks)
                r += 2
    for r in range(rows):
        for i in range((last - first) * lanes):
            out[r, i] += out[rows + r, i]


@compile_once
def multiply8(isa, tiles, first, last, inputs, rows, out, blocks):
    """Multiply tiles first to last - 1 of an 8-bit weight by all rows of inputs, into the first `rows` rows of out.

    Each row has two rows of inputs, written by `quantize_twice`. The products of the second rows go to the other rows of out and are then
    added.
    """
    lanes, stride, out_stride = len(isa), blocks * BLOCK, out.strides[0]
    for tile in range(first, last):
        weight_ptr, out_ptr = tiles + tile * blocks * 34 * lanes, out.ctypes.data + (tile - first) * 4 * lanes
        r = 0
        while r < 2 * rows:
            input_ptr, row_out_ptr, remaining = inputs + r * stride, out_ptr + r * out_stride, 2 * rows - r
            if remaining >= 8:
                product8_8(isa, weight_ptr, input_ptr, stride, row_out_ptr, out_stride, blocks)
                r += 8
            elif remaining >= 4:
                product8_4(isa, weight_ptr, input_ptr, stride, row_out_ptr, out_stride, blocks)
                r += 4
            else:
                product8_2(isa, weight_ptr, input_ptr, stride, row_out_ptr, out_stride, blocks)
                r += 2
    for r in range(rows):
        for i in range((last - first) * lanes):
            out[r, i] += out[rows + r, i]


@compile_once
def look_up(isa, embedding, token, width, x):
    """Read a row of the embedding, which is also the head and is stored in 8-bit tiles."""
    lanes = len(isa)
    tile, lane = token // lanes, token % lanes
    for block in range(width // 32):
        block_bytes = embedding[tile, block]
        from_half(isa, block_bytes[(32 * lanes + 2 * lane) :].ctypes.data, x[32 * block :].ctypes.data)
        scale = x[32 * block]
        for j in range(8):
            for i in range(4):
                x[32 * block + 4 * j + i] = scale * (np.float32(block_bytes[4 * lanes * j + 4 * lane + i]) - np.float32(128))


@compile_once
def normed(x, weight, epsilon, out):
    """Compute the RMSNorm of a row."""
    total = np.float32(0)
    for i in range(len(x)):
        total += x[i] * x[i]
    factor = np.float32(1) / np.sqrt(total / np.float32(len(x)) + epsilon)
    for i in range(len(x)):
        out[i] = x[i] * factor * weight[i]


@compile_once
def quantize_twice(isa, x, coarse, rest):
    """Quantize a row, or a part of one, to two rows of blocks: the 8-bit values, and 8 bits of their rounding error.

    With the first row alone, as in llama.cpp, other tokens are chosen wherever float32's best two logits are close. The cause is a channel
    that is much larger than its neighbours, for which few quantization steps are left. x is overwritten.
    """
    blocks = len(x) // 32
    quantize(isa, x.ctypes.data, coarse.ctypes.data, blocks)
    numbers, scales = coarse.view(np.int8), coarse.view(np.float32)
    for b in range(blocks):
        scale = scales[(b * BLOCK + 32) // 4]
        for i in range(32):
            x[32 * b + i] -= scale * np.float32(numbers[b * BLOCK + i])
    quantize(isa, x.ctypes.data, rest.ctypes.data, blocks)


@compile_once
def write_input(isa, x, r, block, rows, amx_rows, inputs, operands):
    """Write the numbers x of row r, beginning at `block`, as inputs of the next product of `rows` rows; x is overwritten."""
    if operands is not None and r < amx_rows:
        split(isa, x.ctypes.data, 0, 1, len(x) // 32, operands[r // SIDE, block, 0, r % SIDE].ctypes.data, 0)
        return
    i, rest = r - amx_rows, rows - amx_rows
    quantize_twice(isa, x, inputs[i, block * BLOCK :], inputs[rest + i, block * BLOCK :])


@compile_once
def multiply(isa, weight, first, last, inputs, operands, rows, amx_rows, panel, out):
    """Multiply tiles first to last - 1 of a 4-bit weight (tiles, blocks, bytes) by all rows of inputs, into out.

    If amx_rows is not 0, the number of tiles must be even.
    """
    blocks = weight.shape[1]
    if operands is not None and amx_rows > 0:
        multiply4_by_amx(isa, weight.ctypes.data, first, last, operands, amx_rows, panel, out, blocks)
    if rows > amx_rows:
        multiply4(isa, weight.ctypes.data, first, last, inputs.ctypes.data, rows - amx_rows, out[amx_rows:], blocks)


@compile_once
def turned(head, cos, sin):
    """Rotate a head of a query or key by its position, in place."""
    half = len(cos)
    for i in range(half):
        a, b = head[i], head[half + i]
        head[i] = a * cos[i] - b * sin[i]
        head[half + i] = b * cos[i] + a * sin[i]


@compile_once
def attend(isa, heads, keys, values, length, scratch, out):
    """Attend with queries heads (n, Dh) to the first `length` keys of one key head of one sequence -> out (n, Dh)."""
    lanes, head_dim = len(isa), heads.shape[1]
    blocks = (length + lanes - 1) // lanes
    width = scratch.shape[1] * 4
    key_ptr, value_ptr = keys.ctypes.data, values.ctypes.data
    done = 0
    while done < len(heads):
        n = min(4, len(heads) - done)
        query_ptr, score_ptr, out_ptr = heads[done:].ctypes.data, scratch.ctypes.data, out[done:].ctypes.data
        if n == 4:
            scores_4(isa, query_ptr, key_ptr, score_ptr, width, head_dim, blocks)
        elif n == 3:
            scores_3(isa, query_ptr, key_ptr, score_ptr, width, head_dim, blocks)
        elif n == 2:
            scores_2(isa, query_ptr, key_ptr, score_ptr, width, head_dim, blocks)
        else:
            scores_1(isa, query_ptr, key_ptr, score_ptr, width, head_dim, blocks)
        for i in range(n):
            for j in range(length, blocks * lanes):
                scratch[i, j] = np.float32(-3e38)
            softmax(isa, score_ptr + i * width, blocks)
        if n == 4:
            mixed_4(isa, score_ptr, value_ptr, out_ptr, width, head_dim, length)
        elif n == 3:
            mixed_3(isa, score_ptr, value_ptr, out_ptr, width, head_dim, length)
        elif n == 2:
            mixed_2(isa, score_ptr, value_ptr, out_ptr, width, head_dim, length)
        else:
            mixed_1(isa, score_ptr, value_ptr, out_ptr, width, head_dim, length)
        done += n


@compile_once
def add_and_norm(isa, thread, threads, chosen, x, added, weight, epsilon, row, amx_rows, inputs, operands):
    """Add the last product to the chosen rows of x, and write these rows, normalised, as inputs of the next product.

    Like all functions below, this one does one thread's share.
    """
    begin, end = share(len(chosen), thread, threads)
    for i in range(begin, end):
        r = chosen[i]
        x[r] += added[r]
        normed(x[r], weight, epsilon, row)
        write_input(isa, row[: x.shape[1]], i, 0, len(chosen), amx_rows, inputs, operands)


@compile_once
def project(isa, thread, threads, weight, inputs, operands, rows, amx_rows, panel, out):
    """Multiply a 4-bit weight by all rows of inputs. A unit of work is one tile, or two tiles with AMX."""
    tiles = 2 if amx_rows > 0 else 1
    begin, end = share(len(weight) // tiles, thread, threads)
    begin, end = begin * tiles, end * tiles
    multiply(isa, weight, begin, end, inputs, operands, rows, amx_rows, panel, out[:, begin * len(isa) :])


@compile_once
def rotate_and_store(isa, thread, threads, sizes, sequences, positions, tables, heads, keys, values):
    """Rotate queries and keys, scale the queries, and store keys and values in one layer's cache. A unit of work is a row's key head."""
    _, _, H, K, Dh, _, _, _ = sizes
    cos, sin = tables
    lanes, group = len(isa), H // K
    scale = np.float32(1) / np.sqrt(np.float32(Dh))
    begin, end = share(len(sequences) * K, thread, threads)
    for unit in range(begin, end):
        r, g = unit // K, unit % K
        s, p = sequences[r], positions[r]
        row = heads[r].reshape(H + 2 * K, Dh)
        turned(row[H + g], cos[p], sin[p])
        to_half(isa, row[H + g].ctypes.data, keys[s, g, p // lanes, 0, p % lanes :].ctypes.data, HALF * lanes, Dh)
        to_half(isa, row[H + K + g].ctypes.data, values[s, g, p].ctypes.data, HALF, Dh)
        for n in range(g * group, (g + 1) * group):
            turned(row[n], cos[p], sin[p])
            for i in range(Dh):
                row[n, i] *= scale


@compile_once
def attend_rows(isa, thread, threads, sizes, sequences, positions, heads, keys, values, scratch, row, amx_rows, inputs, operands):
    """Attend with the rows from amx_rows on to their texts so far, and write the results as inputs. A unit is a row's key head."""
    _, _, H, K, Dh, _, _, _ = sizes
    R, group = len(sequences), H // K
    begin, end = share((R - amx_rows) * K, thread, threads)
    for unit in range(begin, end):
        r, g = amx_rows + unit // K, unit % K
        s, p = sequences[r], positions[r]
        queries = heads[r].reshape(H + 2 * K, Dh)[g * group : (g + 1) * group]
        out = row[: group * Dh].reshape(group, Dh)
        attend(isa, queries, keys[s, g], values[s, g], p + 1, scratch, out)
        write_input(isa, out.reshape(group * Dh), r, g * group * Dh // 32, R, amx_rows, inputs, operands)


@compile_once
def attend_rows_by_amx(isa, thread, threads, sizes, sequences, positions, heads, keys, values, runs, operands, amx):
    """Attend with the rows before amx_rows, using AMX. A unit of work is a run of rows (see `run`) and a key head."""
    _, _, H, K, Dh, _, _, _ = sizes
    group = H // K
    _, _, _, _, key_panels, value_panels, queries, shares, scores, mixed = amx
    key_panel, value_panel, results = key_panels[thread], value_panels[thread], mixed[thread]
    for unit in range(thread, (len(runs) - 1) * K, threads):
        first, last, g = runs[unit // K], runs[unit // K + 1], unit % K
        s, groups = sequences[first], (positions[last - 1] + 32) // 32
        unpack_keys(isa, keys[s, g].ctypes.data, key_panel.ctypes.data, 2 * groups)
        unpack_values(isa, values[s, g].ctypes.data, value_panel.ctypes.data, groups)
        for n in range(g * group, (g + 1) * group):
            head_queries = heads[first:last, n * Dh : (n + 1) * Dh]
            attend_by_amx(
                isa, head_queries, positions[first] + 1, key_panel, value_panel, queries[thread], shares[thread], scores[thread], results
            )
            for r in range(first, last):
                to = operands[r // SIDE, n * Dh // 32, 0, r % SIDE].ctypes.data
                split(isa, results[r - first].ctypes.data, 0, 1, Dh // 32, to, 0)


@compile_once
def gate_and_up(isa, thread, threads, gate, up, inputs, operands, rows, amx_rows, panel, halves, inner_inputs, inner_operands):
    """Multiply by the MLP's first two weights, apply SwiGLU, and write the results as inputs.

    A unit of work is 32 numbers of all rows. These numbers are one block of the next product's input, so no thread waits between the steps.
    """
    tiles = 32 // len(isa)
    g, u = halves[0], halves[1]
    begin, end = share(len(gate) // tiles, thread, threads)
    for unit in range(begin, end):
        first, last = unit * tiles, (unit + 1) * tiles
        multiply(isa, gate, first, last, inputs, operands, rows, amx_rows, panel, g)
        multiply(isa, up, first, last, inputs, operands, rows, amx_rows, panel, u)
        swiglu(isa, g.ctypes.data, u.ctypes.data, g.ctypes.data, rows * tiles)
        if inner_operands is not None and amx_rows > 0:
            split(isa, g.ctypes.data, g.strides[0], amx_rows, 1, inner_operands[0, unit].ctypes.data, inner_operands.strides[0])
        for r in range(amx_rows, rows):
            write_input(isa, g[r], r, unit, rows, amx_rows, inner_inputs, inner_operands)


@compile_once
def head(isa, thread, threads, embedding, inputs, rows, logits):
    """Multiply the embedding, which is also the head, by all rows of inputs."""
    if rows > 0:
        tiles, blocks, _ = embedding.shape
        begin, end = share(tiles, thread, threads)
        multiply8(isa, embedding.ctypes.data, begin, end, inputs.ctypes.data, rows, logits[:, begin * len(isa) :], blocks)


@compile_once
def operands_of(isa, thread, amx_rows, amx):
    """Return operands and panel of a thread, and configure its registers if AMX is used; without AMX return (None, None, None)."""
    if amx is None:
        return None, None, None
    if amx_rows > 0:
        configure(isa, amx[0].ctypes.data)
    return amx[1], amx[2], amx[3][thread]


@compile_once
def run(isa, thread, threads, barrier, ids, sequences, positions, wanted, runs, sizes, weights, tables, cache, work, amx):
    """Compute a pass over rows ids (R,), each in its sequence at its position -> work's logits, a row for each of `wanted`.

    runs: the first rows of all runs, then the row after the last run. A run is up to 16 rows that follow each other in one text and are
    computed with AMX. Rows after the last run are computed without AMX.

    Every thread calls this function with its own number `thread`. sizes, weights, tables, cache, work, amx: as `engine.QuantizedEngine`
    makes them.
    """
    layers, D, _, _, _, _, _, epsilon = sizes
    embedding, attention_norm, qkv, o_proj, mlp_norm, gate, up, down, last_norm = weights
    keys, values = cache
    x, added, heads, inputs, inner_inputs, scratch, halves, h, logits = work
    R, A, wait = len(ids), runs[-1], barrier.ctypes.data
    operands, inner_operands, panel = operands_of(isa, thread, A, amx)
    row, every = h[thread], np.arange(R)

    begin, end = share(R, thread, threads)
    for r in range(begin, end):
        look_up(isa, embedding, ids[r], D, x[r])
        added[r] = 0
    for layer in range(layers):
        k, v = keys[layer], values[layer]
        add_and_norm(isa, thread, threads, every, x, added, attention_norm[layer], epsilon, row, A, inputs, operands)
        meet(isa, wait, threads)
        project(isa, thread, threads, qkv[layer], inputs, operands, R, A, panel, heads)
        meet(isa, wait, threads)
        rotate_and_store(isa, thread, threads, sizes, sequences, positions, tables, heads, k, v)
        meet(isa, wait, threads)
        if amx is not None and A > 0:
            attend_rows_by_amx(isa, thread, threads, sizes, sequences, positions, heads, k, v, runs, operands, amx)
        attend_rows(isa, thread, threads, sizes, sequences, positions, heads, k, v, scratch[thread], row, A, inputs, operands)
        meet(isa, wait, threads)
        project(isa, thread, threads, o_proj[layer], inputs, operands, R, A, panel, added)
        meet(isa, wait, threads)
        add_and_norm(isa, thread, threads, every, x, added, mlp_norm[layer], epsilon, row, A, inputs, operands)
        meet(isa, wait, threads)
        gate_and_up(
            isa, thread, threads, gate[layer], up[layer], inputs, operands, R, A, panel, halves[thread], inner_inputs, inner_operands
        )
        meet(isa, wait, threads)
        project(isa, thread, threads, down[layer], inner_inputs, inner_operands, R, A, panel, added)
        meet(isa, wait, threads)
    add_and_norm(isa, thread, threads, wanted, x, added, last_norm, epsilon, row, 0, inputs, operands)
    meet(isa, wait, threads)
    head(isa, thread, threads, embedding, inputs, len(wanted), logits)
    meet(isa, wait, threads)
    if amx is not None and A > 0:
        release(isa)
