"""The scheduler: which requests get tokens, how many, and which are preempted.

The functions are Day 14's, except two: `update` hashes each block only once, and `admit` handles the salt.
"""

from __future__ import annotations

import hashlib

from solutions import continuous_batching
from solutions.continuous_batching import Plan, abort, feed_running
from solutions.engine.sequence import Request
from solutions.paging import PagedSequence, start_sequence

__all__ = ["Plan", "Scheduler", "abort", "update"]


class Scheduler(continuous_batching.Scheduler):
    """Day 14's scheduler, for requests with a salt: only requests with the same salt share blocks."""

    def schedule(self) -> Plan:
        plan = feed_running(self)
        if not plan.preempted:
            admit(self, plan)
        return plan


def admit(scheduler: Scheduler, plan: Plan) -> None:
    """Admit waiting requests as Day 14's `admit` does.

    On Day 14 all texts share the pool's known blocks. In this engine only texts with the same salt share blocks, and a request that reads
    its prompt takes over none. And a request waits while another one reads the same prompt, so this prompt is read only once.
    """
    while scheduler.waiting and len(scheduler.running) < scheduler.max_running and plan.num_tokens < scheduler.token_budget:
        request = scheduler.waiting[0]
        assert isinstance(request, Request)
        if shares_unread_prompt(scheduler, request):
            break  # nobody overtakes
        if request.reads_prompt:  # logits are not in the cache
            sequence = PagedSequence(scheduler.pool, scheduler.block_size)
        else:
            sequence = start_sequence(scheduler.pool, request.tokens, scheduler.block_size, request.salt)
        n = min(len(request.tokens) - sequence.length, scheduler.token_budget - plan.num_tokens)
        if sequence.blocks_for(n) > scheduler.pool.num_free:
            sequence.free()
            break
        sequence.grow(n)
        request.sequence = sequence
        scheduler.running.append(scheduler.waiting.pop(0))
        plan.chunks.append((request, n))


def shares_unread_prompt(scheduler: continuous_batching.Scheduler, request: Request) -> bool:
    """Return True if a running request is still reading this request's prompt, and will publish blocks that this one can take over."""
    if request.reads_prompt or len(request.prompt) <= scheduler.block_size:
        return False
    reading = [each for each in scheduler.running if isinstance(each, Request) and not each.output]
    return any(each.prompt == request.prompt and each.salt == request.salt for each in reading)


def update(scheduler: Scheduler, plan: Plan, tokens: list[int]) -> list[Request]:
    """Publish whole blocks, give each request its token, and remove and return the requests that have ended, as Day 14's `update` does.

    Day 14's function hashes a text from its beginning at every step. In this engine a request stores the hashes of its blocks, so that
    only new blocks are hashed.
    """
    ended = []
    for (request, n), token in zip(plan.chunks, tokens, strict=True):
        assert isinstance(request, Request)
        publish_new_blocks(scheduler, request, n)
        if request.remaining:
            continue
        request.output.append(token)
        if request.ends_with(token):
            scheduler.running.remove(request)
            request.sequence.free()
            request.sequence = None
            ended.append(request)
    return ended


def publish_new_blocks(scheduler: Scheduler, request: Request, n: int) -> None:
    """Publish the blocks that the last n tokens have filled. Their keys are those of `block_keys`."""
    size, sequence, keys, text = scheduler.block_size, request.sequence, request.block_keys, request.tokens
    for end in range((len(keys) + 1) * size, sequence.length + 1, size):
        before = keys[-1] if keys else hashlib.sha256(request.salt).digest()
        keys.append(hashlib.sha256(before + b"".join(token.to_bytes(8, "little") for token in text[end - size : end])).digest())
    for place in range((sequence.length - n) // size, sequence.length // size):
        scheduler.pool.publish(sequence.blocks[place], keys[place])
