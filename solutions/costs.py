"""Cost of a request: arithmetic, bytes, and the time that a machine needs for the slower of the two.

FLOPs count a multiplication and an addition as two. Bytes are bytes; GB is 10**9 and GiB is 2**30.
Weights and positions are counted in whole numbers (int); FLOPs and bytes may come as floats.
"""

import time
from collections.abc import Callable

import torch
from torch import Tensor

from course.kit import Config
from course.kit.machine import Machine


def param_count(config: Config) -> int:
    """Return N, the number of weights of a Llama model: a whole number, a tied head counted once, norms included.

    head_dim is taken as it is given: H * Dh need not be D.
    """
    ### BEGIN SOLUTION
    D, F = config.hidden_size, config.intermediate_size
    q_width = config.num_attention_heads * config.head_dim
    kv_width = config.num_key_value_heads * config.head_dim
    attention = 2 * D * q_width + 2 * D * kv_width  # q and o, k and v
    layer = attention + 3 * D * F + 2 * D  # gate, up and down; two norms
    embeddings = config.vocab_size * D * (1 if config.tie_word_embeddings else 2)
    return embeddings + config.num_hidden_layers * layer + D
    ### END SOLUTION


def prefill_flops(n_params: int, t_prompt: int) -> int:
    """Return the FLOPs of one pass over the prompt, by the rule of two FLOPs a weight and token. Attention is left out."""
    ### BEGIN SOLUTION
    return 2 * n_params * t_prompt
    ### END SOLUTION


def decode_flops(n_params: int, t_new: int) -> int:
    """Return the FLOPs of t_new decode steps of one token each, by the same rule."""
    ### BEGIN SOLUTION
    return 2 * n_params * t_new
    ### END SOLUTION


def forward_flops(config: Config, t: int) -> int:
    """Return the FLOPs of all matrix products of one forward pass over t tokens of one sequence: exact, attention included.

    The full t x t scores count (the causal half is computed and masked), and the head at every position.
    """
    ### BEGIN SOLUTION
    D, F = config.hidden_size, config.intermediate_size
    q_width = config.num_attention_heads * config.head_dim
    kv_width = config.num_key_value_heads * config.head_dim
    weights = config.num_hidden_layers * (2 * D * q_width + 2 * D * kv_width + 3 * D * F) + config.vocab_size * D
    scores_and_values = config.num_hidden_layers * 2 * t * t * q_width  # multiply-adds of q @ k and of weights @ v
    return 2 * (t * weights + scores_and_values)
    ### END SOLUTION


def weight_bytes(n_params: int, bytes_per_value: float) -> float:
    """Return the bytes of all weights: 4 a value in float32, 2 in fp16 and bf16, 0.5 in 4 bits. Nothing is rounded."""
    ### BEGIN SOLUTION
    return n_params * bytes_per_value
    ### END SOLUTION


def kv_cache_bytes(config: Config, tokens: int, batch: int, bytes_per_value: float) -> float:
    """Return the bytes of the keys and values of `batch` sequences of `tokens` tokens each.

    Each layer has two tensors, with one row of head_dim values for each token and key/value head. Nothing is rounded.
    """
    ### BEGIN SOLUTION
    values_per_token = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim
    return values_per_token * tokens * batch * bytes_per_value
    ### END SOLUTION


def arithmetic_intensity(flops: float, num_bytes: float) -> float:
    """Return the FLOPs done for each byte moved: 0 if flops is 0. Williams et al. 2009."""
    ### BEGIN SOLUTION
    return flops / num_bytes
    ### END SOLUTION


def roofline_seconds(flops: float, num_bytes: float, peak_flops: float, bandwidth: float) -> float:
    """Return the least time for some work: the machine calculates and moves bytes side by side, so the slower of the two decides.

    peak_flops in FLOP/s, bandwidth in bytes/s -> seconds. num_bytes > 0; flops may be 0, as in a copy: then the bytes decide.
    Williams et al. 2009.
    """
    ### BEGIN SOLUTION
    return max(flops / peak_flops, num_bytes / bandwidth)
    ### END SOLUTION


def naive_positions(t0: int, g: int) -> int:
    """Return how many token positions pass through the layers when g tokens are generated after t0, the whole text each time.

    A whole number.
    """
    ### BEGIN SOLUTION
    return g * t0 + g * (g - 1) // 2
    ### END SOLUTION


def cached_positions(t0: int, g: int) -> int:
    """Return how many positions pass with a cache: the prompt once, then each new token once; the last one is never fed back.

    0 for g = 0. A whole number.
    """
    ### BEGIN SOLUTION
    return t0 + g - 1 if g > 0 else 0
    ### END SOLUTION


def measure_machine(size: int = 1024, num_bytes: int = 2**28, rounds: int = 5) -> Machine:
    """Measure this machine in float32: a size x size matrix product, and a sum over num_bytes of memory.

    peak_flops is in FLOP/s, bandwidth in bytes/s. Each is the work of one round over the shortest of `rounds` times on the wall
    clock, because everything that disturbs a measurement makes it longer. Tensors are made beforehand and not timed; an untimed round to
    warm up is allowed. Every call measures again. It takes about a second.
    """
    ### BEGIN SOLUTION
    def best_seconds(work: Callable[[], Tensor]) -> float:
        seconds = []
        for _round in range(rounds):
            began = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - began)
        return min(seconds)

    a, b = torch.randn(size, size), torch.randn(size, size)
    memory = torch.ones(num_bytes // 4)  # float32
    return Machine(
        peak_flops=2 * size**3 / best_seconds(lambda: a @ b),
        bandwidth=num_bytes / best_seconds(lambda: memory.sum()),
    )
    ### END SOLUTION
