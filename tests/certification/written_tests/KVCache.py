# Tests of KVCache, as students may write them, with what each is due: so many of the wrong versions rejected, or what is said.


# %% right_a_twin_of_lists
# RIGHT: all: whatever the cache does, lists of tensors do the same
import itertools

import pytest


def small(layers=2, heads=2, width=3):
    return Config("small", 11, 20, 8, layers, 4, heads, width, 1e4, 1e-5, 64, True, 1, 2)


def filled(config, batch, t, start, dtype=torch.float32):
    """Numbers that occur once, with digits that half precision has not: (B, K, t, Dh)."""
    shape = (batch, config.num_key_value_heads, t, config.head_dim)
    count = batch * config.num_key_value_heads * t * config.head_dim
    return ((torch.arange(count, dtype=torch.float64) + 1000 * start) / 7 + 0.1).reshape(shape).to(dtype)


def test_KVCache(x):
    for batch, dtype in ((1, torch.float32), (2, torch.float64), (2, torch.float16), (2, torch.bfloat16)):
        config, max_len = small(layers=3), 6
        cache = x(config, batch, max_len, dtype) if dtype != torch.float32 else x(config, batch, max_len)
        room = 2 * 3 * batch * 2 * max_len * 3 * dtype.itemsize
        start = itertools.count(1)
        for _ in range(2):
            assert type(cache.length) is int and cache.length == 0
            keys, values = [[], [], []], [[], [], []]
            for layer, t in ((0, 2), (1, 1), (0, 1), (1, 2), (2, 3), (1, 3), (0, 3)):
                k, v = filled(config, batch, t, next(start), dtype), filled(config, batch, t, next(start), dtype)
                keys[layer].append(k)
                values[layer].append(v)
                k_all, v_all = cache.append(layer, k, v)
                assert k_all.dtype == v_all.dtype == dtype
                assert k_all.shape == (batch, 2, sum(each.shape[2] for each in keys[layer]), 3)
                assert torch.equal(k_all, torch.cat(keys[layer], dim=2)) and torch.equal(v_all, torch.cat(values[layer], dim=2))
                assert cache.length == sum(each.shape[2] for each in keys[2])
                assert cache.nbytes == room
            k = filled(config, batch, 1, 99, dtype)
            with pytest.raises(CacheFull, match="6"):
                cache.append(0, k, k)
            with pytest.raises(ValueError):
                cache.append(1, k, k)
            assert cache.length == 3
            k_all, v_all = cache.append(2, k, k)  # the last layer still has room, and what was refused is nowhere
            assert torch.equal(k_all, torch.cat([*keys[2], k], dim=2)) and torch.equal(v_all, torch.cat([*values[2], k], dim=2))
            k = filled(config, batch, 3, 77, dtype)
            with pytest.raises(CacheFull):
                cache.append(2, k, k)
            assert cache.length == 4
            k_all, _ = cache.append(2, k[:, :, :2], k[:, :, :2])
            assert k_all.shape[2] == 6 and torch.equal(k_all[:, :, :3], torch.cat(keys[2], dim=2))
            cache.reset()
            assert cache.nbytes == room
    k = filled(small(), 2, 4, 5).transpose(0, 1).contiguous().transpose(0, 1)  # it lies in memory with the heads in front
    one, other = x(small(), 2, 4), x(small(), 2, 5)
    for cache in (one, other):
        assert torch.equal(cache.append(0, k, -k)[1], -k)
    one, other = x(small(), 2, 8), x(small(), 2, 8)
    one.append(0, k, -k)
    other.append(0, 2 * k, k)
    assert torch.equal(one.append(0, k, -k)[0], torch.cat((k, k), dim=2))  # two caches of one shape have nothing in common
    large = torch.full((2, 2, 1, 3), 1e30, dtype=torch.bfloat16)
    assert torch.equal(x(small(), 2, 4, torch.bfloat16).append(0, large, large)[0], large)
    with pytest.raises(CacheFull):
        x(small(), 2, 3).append(1, k, k)
    with pytest.raises(Exception):
        x(small(), 1, 4, torch.float32, "nowhere")


# %% wrong_one_append
# WRONG: 12 of 63: one append to one layer
def test_KVCache(x):
    config = Config("small", 11, 20, 8, 2, 4, 2, 3, 1e4, 1e-5, 64, True, 1, 2)
    cache = x(config, 1, 8)
    k, v = torch.randn(1, 2, 3, 3), torch.randn(1, 2, 3, 3)
    k_all, v_all = cache.append(0, k, v)
    assert torch.equal(k_all, k) and torch.equal(v_all, v)


# %% wrong_demands_views
# WRONG: says "does not accept a correct version": what append gives need be no piece of `keys`, an attribute that the docstring does not promise to every cache
def test_KVCache(x):
    config = Config("small", 11, 20, 8, 2, 4, 2, 3, 1e4, 1e-5, 64, True, 1, 2)
    cache = x(config, 1, 8)
    k = torch.ones(1, 2, 3, 3)
    cache.append(0, k, k)
    assert torch.equal(cache.keys[0, :, :, :3], k)


# %% wrong_gives_an_object
# WRONG: says "only data can be passed": an object of the test's own cannot go to the version
class Sizes:
    num_hidden_layers, num_key_value_heads, head_dim = 2, 2, 3


def test_KVCache(x):
    assert x(Sizes(), 1, 4).length == 0


# %% wrong_asserts_nothing
# WRONG: 0 of 63: makes a cache and resets it
def test_KVCache(x):
    x(Config("small", 11, 20, 8, 2, 4, 2, 3, 1e4, 1e-5, 64, True, 1, 2), 1, 4).reset()
