"""Day 12's tiles as one GPU kernel, in Triton: an extra, and no exercise.

One program of the grid is one tile of queries of one head; its scores, maximum, sum and weighted values never leave the chip. It is
`flash_attention` line by line, with three differences. A program has one query head, so that a tile of keys is read once for each head of
a group. Causal attention masks every tile, because a comparison costs a GPU next to nothing. Powers are of 2, which is what GPUs compute.

The kernel needs the extra `triton`. Without a GPU, Triton's interpreter runs it in numpy, tile after tile and slowly: set
TRITON_INTERPRET=1 before this is imported. `python -m solutions.engine.flash_triton` compares it with Day 12's answer. Tillet, Kung and
Cox 2019; Dao 2023.
"""

from __future__ import annotations

import os
from typing import Any

import torch

if __name__ == "__main__" and not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # Triton looks at it once, as it is imported

import triton
import triton.language as tl
from torch import Tensor

LOG2_E = tl.constexpr(1.4426950408889634)
LN_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def flash_kernel(
    q, k, v, out, lse,
    H, K, t_q, t_k, head_dim,
    scale,
    CAUSAL: tl.constexpr, Q_BLOCK: tl.constexpr, K_BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Write out and lse: q, out (B*H, Tq, Dh), k, v (B*K, Tk, Dh), lse (B*H, Tq) float32, all contiguous.

    The grid has one axis of B*H times ceil(Tq / Q_BLOCK) programs, because CUDA allows 65,535 programs on the other two.
    """
    tiles = tl.cdiv(t_q, Q_BLOCK)
    row, tile = tl.program_id(0) // tiles, tl.program_id(0) % tiles  # neighbours read the same keys
    group = (row // H) * K + (row % H) // (H // K)  # whose keys and values
    queries = tile * Q_BLOCK + tl.arange(0, Q_BLOCK)
    columns = tl.arange(0, WIDTH)  # a power of two: what is beyond Dh is read as 0 and not written
    inside = (queries < t_q)[:, None] & (columns < head_dim)[None, :]
    at_queries = (row.to(tl.int64) * t_q + queries)[:, None] * head_dim + columns[None, :]
    own = tl.load(q + at_queries, mask=inside, other=0.0)

    m = tl.full((Q_BLOCK,), float("-inf"), tl.float32)
    l = tl.zeros((Q_BLOCK,), tl.float32)  # noqa: E741 - the name that the papers give it
    acc = tl.zeros((Q_BLOCK, WIDTH), tl.float32)
    positions = t_k - t_q + queries
    end = t_k
    if CAUSAL:
        end = tl.minimum(t_k, t_k - t_q + (tile + 1) * Q_BLOCK)  # nobody in this tile may see what comes after
    for start in range(0, end, K_BLOCK):
        keys = start + tl.arange(0, K_BLOCK)
        there = (keys < t_k)[:, None] & (columns < head_dim)[None, :]
        at_keys = (group.to(tl.int64) * t_k + keys)[:, None] * head_dim + columns[None, :]
        tile_k = tl.load(k + at_keys, mask=there, other=0.0)
        tile_v = tl.load(v + at_keys, mask=there, other=0.0)
        # "ieee": products of float32 in float32; a GPU would else round their factors to 10 bits (TF32).
        scores = tl.dot(own, tl.trans(tile_k), input_precision="ieee") * (scale * LOG2_E)
        seen = (keys < t_k)[None, :]
        if CAUSAL:
            seen = seen & (keys[None, :] <= positions[:, None])
        scores = tl.where(seen, scores, float("-inf"))
        # Absorb. Every query sees key 0, so from the first tile on no maximum is -inf.
        new_m = tl.maximum(m, tl.max(scores, 1))
        fade = tl.exp2(m - new_m)
        weights = tl.exp2(scores - new_m[:, None])
        l = l * fade + tl.sum(weights, 1)  # noqa: E741
        acc = acc * fade[:, None] + tl.dot(weights.to(tile_v.dtype), tile_v, input_precision="ieee")
        m = new_m
    # Finish.
    tl.store(out + at_queries, (acc / l[:, None]).to(out.dtype.element_ty), mask=inside)
    tl.store(lse + row.to(tl.int64) * t_q + queries, m * LN_2 + tl.log(l), mask=queries < t_q)


def flash_attention_triton(q: Tensor, k: Tensor, v: Tensor, *, causal: bool, q_block: int = 64, k_block: int = 64) -> tuple[Tensor, Tensor]:
    """Compute Day 12's `flash_attention` by one kernel.

    q (B, H, Tq, Dh), k and v (B, K, Tk, Dh), Tk >= 1 -> out (B, H, Tq, Dh) of q's dtype, lse (B, H, Tq) float32. float32, float16, and
    on a GPU bfloat16. Tiles are powers of two, 16 or more. Raises ValueError if causal and Tq > Tk, for other tiles, and for other
    dtypes: Triton's interpreter (3.9) gives wrong numbers in bfloat16 without a word.
    """
    (B, H, t_q, head_dim), (K, t_k) = q.shape, k.shape[1:3]
    if causal and t_q > t_k:
        raise ValueError(f"{t_q} queries cannot stand at the end of {t_k} keys")
    for name, size in (("q_block", q_block), ("k_block", k_block)):
        if size < 16 or size & (size - 1):
            raise ValueError(f"{name} must be a power of two, 16 or more, got {size}")
    if q.dtype not in (torch.float32, torch.float16, *([torch.bfloat16] if q.is_cuda else [])):
        raise ValueError(f"this kernel takes float32 and float16, on a GPU also bfloat16; got {q.dtype} on {q.device.type}")
    out = torch.empty(B, H, t_q, head_dim, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, t_q, dtype=torch.float32, device=q.device)
    grid = (B * H * triton.cdiv(t_q, q_block),)
    given = (q.contiguous(), k.contiguous(), v.contiguous(), out, lse, H, K, t_q, t_k, head_dim, head_dim**-0.5)
    flash_kernel[grid](*given, CAUSAL=causal, Q_BLOCK=q_block, K_BLOCK=k_block, WIDTH=width(head_dim))
    return out, lse


def width(head_dim: int) -> int:
    """Return the next power of two, and at least 16: what `tl.dot` takes."""
    return max(16, triton.next_power_of_2(head_dim))


def compiled(capability: int, dtype: str = "fp16", *, causal: bool = True, tile: int = 64, head_dim: int = 64) -> Any:
    """Return the kernel compiled for GPUs of a compute capability (80: A100, 90: H100), without one: `.asm["ptx"]`, `.asm["cubin"]`.

    dtype: "fp16", "bf16" or "fp32". Not under TRITON_INTERPRET=1, where there is nothing to compile.
    """
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    fixed = {"CAUSAL": causal, "Q_BLOCK": tile, "K_BLOCK": tile, "WIDTH": width(head_dim)}
    signature = dict.fromkeys(("q", "k", "v", "out"), f"*{dtype}") | {"lse": "*fp32"}  # pointers, as Triton names them
    signature |= dict.fromkeys(("H", "K", "t_q", "t_k", "head_dim"), "i32") | {"scale": "fp32"} | dict.fromkeys(fixed, "constexpr")
    source = ASTSource(flash_kernel, signature, constexprs=fixed)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32))


def compare() -> None:
    """Print how far the kernel is from Day 12's answer in float64, for a few shapes."""
    from solutions.flash_attention import flash_attention

    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    device = "cpu" if interpreted else "cuda"
    source = torch.Generator().manual_seed(0)
    print(f"H K  Tq  Tk Dh causal dtype     out      lse   ({'the interpreter' if interpreted else 'a GPU'})")
    for H, K, t_q, t_k, head_dim, causal in ((4, 2, 100, 100, 32, True), (2, 1, 7, 40, 24, True), (2, 2, 33, 50, 64, False)):
        shapes = ((1, H, t_q, head_dim), (1, K, t_k, head_dim), (1, K, t_k, head_dim))
        exact = [torch.randn(shape, generator=source) for shape in shapes]
        for dtype in (torch.float32, torch.float16):
            q, k, v = (x.to(device, dtype) for x in exact)
            out, lse = flash_attention_triton(q, k, v, causal=causal, q_block=32, k_block=32)
            right, right_lse = flash_attention(q.double(), k.double(), v.double(), causal=causal)
            errors = [float((got - want).abs().max()) for got, want in ((out, right), (lse, right_lse))]
            print(f"{H} {K} {t_q:3} {t_k:3} {head_dim:2} {causal!s:6} {str(dtype)[6:]:7} {errors[0]:.1e} {errors[1]:.1e}")


if __name__ == "__main__":
    compare()
