"""Day 12's kernel for a GPU, if Triton is installed: its numbers by the interpreter and on a GPU, and that it compiles without one.

Each test runs in a process of its own: Triton decides at its import whether it interprets or compiles.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys

import pytest
import torch

from course.kit.paths import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="triton is not installed (extra `triton`; 1 GB on the disk)"),
]
INSTALLED = importlib.metadata.version("triton") if importlib.util.find_spec("triton") else "0.0"
interprets = pytest.mark.skipif(
    (0, 0) < tuple(map(int, INSTALLED.split(".")[:2])) < (3, 7),
    reason=f"Triton {INSTALLED}: its interpreter fails with numpy 2.4 (TypeError: only 0-dimensional arrays ...); 3.7 works",
)
NUMBERS = """
import torch
from solutions.flash_attention import flash_attention
from solutions.engine.flash_triton import flash_attention_triton
source = torch.Generator().manual_seed(1)
shapes = [
    # B, H, K, Tq, Tk, Dh, causal, q_block, k_block
    (2, 4, 2, 100, 100, 32, True, 32, 32),
    (1, 6, 2, 7, 40, 24, True, 16, 32),      # queries at the end, a width that is no power of two, three heads a group
    (1, 2, 2, 33, 50, 64, False, 32, 16),    # nothing divides
    (1, 1, 1, 1, 20, 16, True, 16, 16),      # a step of decoding
    (1, 4, 4, 20, 20, 8, True, 64, 64),      # tiles larger than the text, heads narrower than a product takes
    (1, 1, 1, 70, 70, 16, False, 16, 64),
]
for B, H, K, Tq, Tk, Dh, causal, q_block, k_block in shapes:
    exact = [torch.randn(B, n, T, Dh, generator=source) * size for n, T, size in ((H, Tq, 3), (K, Tk, 3), (K, Tk, 1))]
    for dtype, tolerance in ((torch.float32, 5e-6), (torch.float16, 4e-3)):
        q, k, v = (x.to(dtype) for x in exact)
        kept = [x.clone() for x in (q, k, v)]
        out, lse = flash_attention_triton(q, k, v, causal=causal, q_block=q_block, k_block=k_block)
        want, want_lse = flash_attention(q.double(), k.double(), v.double(), causal=causal)
        assert (out.dtype, out.shape, lse.dtype, lse.shape) == (dtype, q.shape, torch.float32, q.shape[:3])
        worst = float((out - want).abs().max()), float((lse - want_lse).abs().max())
        assert worst[0] < tolerance and worst[1] < 1e-5, (B, H, K, Tq, Tk, Dh, causal, dtype, worst)
        assert all(torch.equal(a, b) for a, b in zip(kept, (q, k, v)))
q, k, v = (torch.randn(1, 12, 2, 16, generator=source).transpose(1, 2) for _ in range(3))  # not contiguous
assert torch.allclose(flash_attention_triton(q, k, v, causal=True)[0], flash_attention(q, k, v, causal=True)[0], atol=1e-5)
def refused(error, *args, **options):
    try:
        flash_attention_triton(*args, **options)
    except ValueError as raised:
        assert error in str(raised), raised
    else:
        raise AssertionError(error)
refused("12 queries cannot stand at the end of 8 keys", q, k[:, :, :8], v[:, :, :8], causal=True)
refused("q_block must be a power of two, 16 or more, got 48", q, k, v, causal=True, q_block=48)
refused("k_block must be a power of two, 16 or more, got 8", q, k, v, causal=True, k_block=8)
refused("torch.bfloat16", q.bfloat16(), k.bfloat16(), v.bfloat16(), causal=True)
refused("torch.float64", q.double(), k.double(), v.double(), causal=True)
"""
LAUNCHES = """
import torch
from solutions.flash_attention import flash_attention
from solutions.engine.flash_triton import flash_attention_triton
source = torch.Generator().manual_seed(2)
shapes = [
    # B, H, K, Tq, Tk, Dh, causal, q_block, k_block
    (2, 4, 2, 100, 100, 32, True, 32, 32),
    (1, 6, 2, 7, 40, 24, True, 16, 32),      # queries at the end, a width that is no power of two, three heads a group
    (1, 2, 2, 33, 50, 64, False, 32, 16),    # nothing divides
    (1, 1, 1, 1, 1, 16, True, 16, 16),       # sizes of 1, which a launch turns into constants
    (1, 4, 4, 20, 20, 8, True, 64, 64),      # tiles larger than the text, heads narrower than a product takes
    (1, 8, 2, 300, 300, 128, True, 64, 64),
    (8192, 9, 3, 1, 20, 16, True, 16, 16),   # 73,728 programs
]
for B, H, K, Tq, Tk, Dh, causal, q_block, k_block in shapes:
    exact = [torch.randn(B, n, T, Dh, generator=source) * size for n, T, size in ((H, Tq, 2), (K, Tk, 2), (K, Tk, 1))]
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 4e-3), (torch.bfloat16, 3e-2)):
        q, k, v = (x.to("cuda", dtype) for x in exact)
        out, lse = flash_attention_triton(q, k, v, causal=causal, q_block=q_block, k_block=k_block)
        want, want_lse = flash_attention(q.double(), k.double(), v.double(), causal=causal)
        worst = float((out - want).abs().max()), float((lse - want_lse).abs().max())
        print(B, H, K, Tq, Tk, Dh, causal, dtype, worst)
        assert worst[0] < tolerance and worst[1] < 2e-5, (B, H, K, Tq, Tk, Dh, causal, dtype, worst)
"""
COMPILES = """
from solutions.engine.flash_triton import compiled
for capability in (80, 90):
    for dtype in ("fp16", "bf16", "fp32"):
        for causal in (False, True):
            made = compiled(capability, dtype, causal=causal, tile=32).asm
            assert f".target sm_{capability}" in made["ptx"] and len(made["cubin"]) > 1_000
            # 16 bits go through the tensor cores, and float32, which must stay exact, does not.
            assert ("mma" in made["ptx"]) == (dtype != "fp32"), (capability, dtype)
"""


def run(*arguments: str, interpreted: bool) -> str:
    environment = {**os.environ, "TRITON_INTERPRET": "1" if interpreted else "0"}
    ran = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@interprets
def test_the_interpreter_gives_what_day_12_gives():
    run("-c", NUMBERS, interpreted=True)


def test_it_compiles_ahead_of_time_for_gpus_that_are_not_here():
    run("-c", COMPILES, interpreted=False)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device that torch can use")
def test_the_compiled_kernel_gives_what_day_12_gives():
    run("-c", LAUNCHES, interpreted=False)


@interprets
def test_the_comparison_says_how_far_it_is_from_exact():
    printed = run("-m", "solutions.engine.flash_triton", interpreted=True)
    rows = [line.split() for line in printed.splitlines()[1:]]
    assert len(rows) == 6
    assert all(float(error) < (2e-3 if row[6] == "float16" else 5e-6) for row in rows for error in row[7:])
