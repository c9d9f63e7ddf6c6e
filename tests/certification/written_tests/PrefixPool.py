# Tests of PrefixPool, as students may write them, with what each is due: so many of the wrong versions rejected, or what is said.


# %% right_the_same_story_twice
# RIGHT: all: random calls go to the pool and to plain lists; after each of them the two agree
import random

import pytest


def key(number):
    return b"eight or more" + number.to_bytes(19, "big")


class Lists:
    """The docstring again, without a thought for speed."""

    def __init__(self, num_blocks):
        self.holders, self.keys, self.idle = [0] * num_blocks, {}, []  # keys: block -> key; idle: the one idle longest is first

    def find(self, keys):
        block_of = {key: block for block, key in self.keys.items()}
        found = []
        for key in keys:
            if key not in block_of:
                break
            found.append(block_of[key])
        return found

    def may_be_taken(self):
        free = [block for block, count in enumerate(self.holders) if not count]
        return [block for block in free if block not in self.keys] or self.idle[:1]

    def taken(self, block):
        self.forget(block)
        self.holders[block] = 1

    def forget(self, block):
        self.keys.pop(block, None)
        if block in self.idle:
            self.idle.remove(block)

    def adopt(self, keys):
        for block in self.find(keys):
            self.holders[block] += 1
            if block in self.idle:
                self.idle.remove(block)

    def release(self, block):
        self.holders[block] -= 1
        if not self.holders[block] and block in self.keys:
            self.idle.append(block)

    def publish(self, block, key):
        if block not in self.keys and key not in self.keys.values():
            self.keys[block] = key


def random_calls(pool, num_blocks, steps, luck):
    lists, known = Lists(num_blocks), [key(number) for number in range(num_blocks)]

    def take():
        choice = lists.may_be_taken()
        if choice:
            got = pool.take()
            assert got in choice
            lists.taken(got)
        else:
            with pytest.raises(OutOfBlocks):
                pool.take()

    def step(what, block, keys):
        if what == "take":
            take()
        elif what == "find":
            assert pool.find(keys) == lists.find(keys)
        elif what == "adopt":
            assert pool.adopt(keys) == lists.find(keys)
            lists.adopt(keys)
        elif what == "forget":
            pool.forget(block)
            lists.forget(block)
        elif lists.holders[block]:
            if what == "publish":
                pool.publish(block, keys[0])
                lists.publish(block, keys[0])
            elif what == "share":
                pool.share(block)
                lists.holders[block] += 1
            else:
                pool.release(block)
                lists.release(block)
        else:
            with pytest.raises(ValueError):
                pool.publish(block, keys[0]) if what == "publish" else pool.share(block) if what == "share" else pool.release(block)

    def agree():
        assert pool.num_free == lists.holders.count(0)
        assert pool.find(known[1:2]) == lists.find(known[1:2])

    for _ in range(num_blocks):
        take()
    for block in range(num_blocks):
        step("publish", block, known[block:])
        step("release", block, [])
    for _ in range(steps):
        what = luck.choice(["take", "publish", "publish", "release", "release", "release", "adopt", "adopt", "share", "find", "forget"])
        step(what, luck.randrange(num_blocks), luck.sample(known, luck.randrange(1, 4)))
        agree()
    for block in luck.sample(range(num_blocks), num_blocks):
        assert pool.holders(block) == lists.holders[block]
        while lists.holders[block]:
            step("release", block, [])
        agree()
    for _ in range(num_blocks + 1):  # in which order do they go?
        take()
    for one in known:
        assert pool.find([one]) == []


def test_PrefixPool(x):
    luck = random.Random(3)
    for _ in range(30):
        random_calls(x(4), 4, 12, luck)
    many, other = x(70), x(3)
    blocks = [many.take() for _ in range(70)]
    for number, block in enumerate(blocks):
        many.publish(block, key(number))
    assert many.find([key(number) for number in range(70)]) == blocks
    assert other.find([key(0)]) == []


# %% wrong_published_and_found
# WRONG: 0 of 34: a block that is published is found
def test_PrefixPool(x):
    pool = x(4)
    block = pool.take()
    pool.publish(block, b"k" * 32)
    assert pool.find([b"k" * 32]) == [block]


# %% wrong_still_found_when_idle
# WRONG: 4 of 34: and is found when nobody holds it
def test_PrefixPool(x):
    pool = x(1)
    block = pool.take()
    pool.publish(block, b"k" * 32)
    pool.release(block)
    assert pool.num_free == 1
    assert pool.adopt([b"k" * 32]) == [block]
    assert pool.num_free == 0


# %% wrong_asserts_nothing
# WRONG: 0 of 34: makes a pool and takes a block
def test_PrefixPool(x):
    x(4).take()


# %% wrong_order_of_free_blocks
# WRONG: says "does not accept a correct version": which free block is taken is left open
def test_PrefixPool(x):
    assert x(4).take() == 3


# %% wrong_looks_inside
# WRONG: says "does not accept a correct version": an attribute that the docstring does not promise
def test_PrefixPool(x):
    pool = x(2)
    block = pool.take()
    pool.publish(block, b"k" * 32)
    pool.release(block)
    assert list(pool.idle) == [block]
