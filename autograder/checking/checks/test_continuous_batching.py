"""Visible checks of continuous batching."""

from __future__ import annotations

import torch

from autograder.authoring import checks, close, equal, random_steps, that
from autograder.base.wording import counted
from autograder.checking.checks.test_kv_cache import best_of_all
from autograder.checking.checks.test_transformer import kit_model, small_config, small_weights
from autograder.checking.helpers.cached import PROMPTS, small, tiny_ids, unrolled, whole, written
from autograder.checking.helpers.paged import chained, filled
from autograder.checking.helpers.scheduled import (
    Desk,
    Served,
    Texts,
    arrivals,
    board,
    fed,
    most_flops,
    numbers,
    on_a_board,
    place,
    places,
    play_schedule,
    queues,
    running,
    scheduler_of,
    stricter,
)
from autograder.checking.helpers.work_bounds import between, fewest_flops, gradient_mode_stays

# ---- preempt -------------------------------------------------------------------------------------------------------


@checks("preempt", weight=2)
def test_one_of_three_gives_way(student):
    """the middle one of three running requests is preempted: first in the queue, without blocks, with all its tokens"""
    s = scheduler_of(student, 12, 4, 16, 4)
    a, b, c = (running(student, s, [i] * 6, 7, output=[40 + i, 50 + i], new=8, eos_token_id=7, arrival=2.0 + i) for i in range(3))
    d = student.Request([9] * 3, 2, arrival=1.0)
    s.waiting = [d]
    equal(s.pool.num_free, 6, what="wrong num_free before preempt is called")
    student.preempt(s, b)
    every = [a, b, c, d]
    equal(places(s.running, every), [0, 2], what="wrong s.running, as indices into the list a, b, c, d")
    equal(places(s.waiting, every), [1, 3], what="wrong s.waiting, as indices into the list a, b, c, d")
    that(b.sequence is None, "b waits and still has a sequence", expected="None", got="a sequence")
    equal(s.pool.num_free, 8, what="wrong num_free afterwards: b held two blocks")
    equal([b.prompt, b.output, b.remaining], [[1] * 6, [41, 51], 8], what="wrong prompt, output and remaining of b")
    equal([b.max_new_tokens, b.eos_token_id, b.arrival], [8, 7, 3.0], what="max_new_tokens, eos_token_id or arrival of b has changed")
    equal([a.sequence.length, c.sequence.length], [7, 7], what="the sequences of a and c have changed; lengths")


@checks("preempt")
def test_one_of_many_gives_way(student):
    """the 37th of 40 running requests is preempted: it comes before 20 waiting ones, and requests with the same text run on"""
    s = scheduler_of(student, 92, 4, 64, 40)
    every = [running(student, s, [i % 8] * 5, 5) for i in range(40)] + [student.Request([i % 8] * 5, 2) for i in range(20)]
    s.waiting = every[40:]
    student.preempt(s, every[36])
    want = [[i for i in range(40) if i != 36], [36, *range(40, 60)]]
    equal(queues(s, every), want, what="wrong s.running and s.waiting, as indices into the list of all requests")
    equal(s.pool.num_free, 14, what="wrong num_free: the one that gave way held two of 80 blocks")


@checks("preempt")
def test_the_end_goes_back_first(student):
    """a preempted request frees the last of its two blocks first, and the pool finds the first; a shared block stays taken"""
    s = scheduler_of(student, 2, 3, 8, 2)
    text = list(range(20, 26))
    request = running(student, s, text, 6, output=[5])
    student.publish_blocks(request.sequence, text)
    student.preempt(s, request)
    s.pool.take()
    known = len(s.pool.find(chained(text, 3)))
    equal(known, 1, what="wrong number of the text's blocks that the pool still finds: `free` gives its end back first")
    s = scheduler_of(student, 4, 3, 8, 2)
    request = running(student, s, text, 6, output=[5])
    student.publish_blocks(request.sequence, text)
    other = student.start_sequence(s.pool, text, 3)
    student.preempt(s, request)
    left = [s.pool.num_free, s.pool.holders(other.blocks[0])]
    equal(left, [3, 1], what="wrong num_free, and number of holders of a block that another request shares")
    equal(len(s.pool.find(chained(text, 3))), 2, what="wrong number of the text's blocks that the pool finds, with the first one shared")


@checks("preempt")
def test_stories_of_giving_way(student, rng):
    """random states: after preempt, running, waiting, all requests and the number of free blocks are right"""

    def play(steps):
        on_a_board(student, steps, lambda each: each.preempt(len(steps)), num_blocks=16, size=4, budget=32, max_running=4)

    random_steps(lambda: board(rng, waiting=2, known=0), play, count=12)


# ---- feed_running --------------------------------------------------------------------------------------------------


@checks("feed_running")
def test_who_runs_is_fed(student):
    """budget 5: the oldest, a decode, is fed 1 token, the second 4 of its 7 remaining tokens, the third none"""
    s = scheduler_of(student, 12, 4, 5, 3)
    every = [
        running(student, s, [1] * 6, 6, output=[8], arrival=9.0),  # the order of s.running counts, not that of the arrivals
        running(student, s, [2] * 12, 5, arrival=5.0),
        running(student, s, [3] * 4, 4, output=[8], arrival=2.0),
    ]
    plan = student.feed_running(s)
    left_out = "The first request is not fed: the newest token of its answer is not in the cache yet, so one token remains."
    suspects = [
        ([(0, 5)], "The first request is fed 5 tokens, and only one of its text is not in the cache yet: `remaining` counts these."),
        ([], left_out),
        ([(1, 5)], left_out),
    ]
    what = "wrong chunks, as pairs (index in the list a, b, c; number of tokens)"
    equal(fed(plan, every), [(0, 1), (1, 4)], what=what, suspects=suspects)
    equal(plan.preempted, [], what="wrong plan.preempted")
    equal([each.sequence.length for each in every], [7, 9, 4], what="wrong lengths of the sequences of a, b, c")
    equal(s.pool.num_free, 6, what="wrong num_free: room is made for the tokens that are fed, and for no others")
    equal(places(s.running, every), [0, 1, 2], what="wrong s.running, as indices into the list a, b, c")


@checks("feed_running", weight=2)
def test_the_youngest_gives_way(student):
    """no block is free and the oldest request needs one: the youngest is preempted, not the second with the same text"""
    s = scheduler_of(student, 6, 4, 16, 3)
    every = [running(student, s, [first] * 8, 8, output=[9]) for first in (1, 2, 2)]
    plan = student.feed_running(s)
    equal(places(plan.preempted, every), [2], what="wrong plan.preempted, as indices into the list a, b, c")
    equal(fed(plan, every), [(0, 1), (1, 1)], what="wrong chunks, as pairs (index in the list a, b, c; number of tokens)")
    equal(places(s.running, every), [0, 1], what="wrong s.running, as indices into the list a, b, c")
    equal(places(s.waiting, every), [2], what="wrong s.waiting, as indices into the list a, b, c")
    equal(s.pool.num_free, 0, what="wrong num_free")


@checks("feed_running")
def test_the_asker_may_be_the_youngest(student):
    """the youngest request needs a block and none is free: the youngest itself is preempted, not the older one"""
    s = scheduler_of(student, 4, 4, 16, 3)
    every = [running(student, s, [1] * 5, 5, output=[9]), running(student, s, [2] * 8, 8, output=[9])]
    plan = student.feed_running(s)
    what = "wrong plan.preempted, as indices into the list a, b"
    equal(
        places(plan.preempted, every),
        [1],
        what=what,
        suspects=[([0], "The older request gives way, and the youngest, which needs the block, does not.")],
    )
    equal(fed(plan, every), [(0, 1)], what="wrong chunks, as pairs (index in the list a, b; number of tokens)")
    equal(queues(s, every), [[0], [1]], what="wrong s.running and s.waiting, as indices into the list a, b")
    equal(s.pool.num_free, 2, what="wrong num_free")


@checks("feed_running")
def test_nobody_gives_way_without_need(student):
    """the last free block is enough: no request is preempted; with the budget used up, or no request running, none is fed"""
    s = scheduler_of(student, 5, 4, 3, 3)
    every = [running(student, s, [1] * 8, 8, output=[9]), running(student, s, [2] * 8, 6), running(student, s, [3] * 4, 0)]
    plan = student.feed_running(s)
    equal(places(plan.preempted, every), [], what="wrong plan.preempted, as indices into the list a, b, c")
    equal(fed(plan, every), [(0, 1), (1, 2)], what="wrong chunks, as pairs (index in the list a, b, c; number of tokens)")
    equal([s.pool.num_free, len(s.running)], [0, 3], what="wrong num_free and number of those who run")
    s = scheduler_of(student, 9, 4, 3, 3)
    every = [running(student, s, [1] * 8, 6), running(student, s, [2] * 9, 4), student.Request([3] * 2, 1)]
    s.waiting = every[2:]
    first, s.running = student.feed_running(s), []
    second = student.feed_running(s)  # nobody runs now, and one waits
    equal(fed(second, every), [], what="wrong chunks when none runs, and c waits; as pairs (index in the list a, b, c; number of tokens)")
    what = "wrong chunks of a plan, with a budget of 3, after another one was made; as pairs (index in the list a, b, c; number of tokens)"
    equal(fed(first, every), [(0, 2), (1, 1)], what=what)


@checks("feed_running")
def test_room_for_the_chunk_alone(student):
    """8 tokens of a prompt remain, budget 4: one free block holds the 4 tokens fed, and no request is preempted"""
    s = scheduler_of(student, 3, 4, 4, 3)
    every = [running(student, s, [1] * 12, 4), running(student, s, [2] * 4, 4, output=[9])]
    plan = student.feed_running(s)
    equal(places(plan.preempted, every), [], what="wrong plan.preempted, as indices into the list a, b")
    equal(fed(plan, every), [(0, 4)], what="wrong chunks, as pairs (index in the list a, b; number of tokens)")
    equal([s.pool.num_free, len(s.running)], [0, 2], what="wrong num_free and number of running requests")


@checks("feed_running")
def test_many_run(student):
    """40 decodes and a prompt of 900 tokens, budget 920: each decode is fed 1 token, the prompt 880"""
    s = scheduler_of(student, 110, 16, 920, 50)
    every = [running(student, s, [i] * 3, 3, output=[9]) for i in range(40)] + [running(student, s, [7] * 900, 0)]
    plan = student.feed_running(s)
    equal(fed(plan, every), [*((i, 1) for i in range(40)), (40, 880)], what="wrong chunks, as pairs (index in the list, number of tokens)")
    equal([s.pool.num_free, len(plan.preempted)], [15, 0], what="wrong num_free, and number of requests that gave way")


@checks("feed_running")
def test_a_shared_block_does_not_come_free(student):
    """the oldest request needs two blocks and shares two of the youngest's three: the two youngest are preempted"""
    s = scheduler_of(student, 5, 2, 16, 3)
    text = list(range(8))
    a = running(student, s, text, 4)
    student.publish_blocks(a.sequence, text)
    b, c = running(student, s, [30, 31, 32], 3, output=[9]), student.Request([*text[:4], 40], 3, output=[41])
    c.sequence = student.start_sequence(s.pool, c.prompt, 2)
    c.sequence.grow(1)
    s.running = every = [a, b, c]
    equal(s.pool.num_free, 0, what="wrong num_free before feed_running is called")
    plan = student.feed_running(s)
    equal(places(plan.preempted, every), [2, 1], what="wrong plan.preempted, as indices into the list a, b, c")
    equal(fed(plan, every), [(0, 4)], what="wrong chunks, as pairs (index in the list a, b, c; number of tokens)")
    equal([queues(s, every), s.pool.num_free], [[[0], [1, 2]], 1], what="wrong s.running and s.waiting, as indices, or wrong num_free")


@checks("feed_running", weight=2)
def test_stories_of_those_who_run(student, rng):
    """random states, some short of blocks: chunks, preempted requests, all requests and the number of free blocks are right"""
    for num_blocks, size, budget in ((6, 4, 9), (9, 2, 7), (20, 1, 30)):

        def play(steps, num_blocks=num_blocks, size=size, budget=budget):
            on_a_board(student, steps, lambda each: each.feed(), num_blocks=num_blocks, size=size, budget=budget, max_running=4)

        random_steps(lambda: board(rng, waiting=2, known=0), play, count=6)


# ---- admit ---------------------------------------------------------------------------------------------------------


def queue(student, s, *prompts, **options):
    """Requests that wait, in this order, though the later ones have arrived earlier."""
    requests = [student.Request(list(prompt), 4, arrival=float(len(prompts) - i), **options) for i, prompt in enumerate(prompts)]
    s.waiting = requests
    return requests


@checks("admit")
def test_first_come_first_served(student):
    """budget 10, prompts of 6, 3, 5 and 2 tokens: the first three are fed 6, 3 and 1, and the fourth waits"""
    s = scheduler_of(student, 4, 4, 10, 5)
    every = queue(student, s, [1] * 6, [2] * 3, [3] * 5, [4] * 2)
    plan = student.Plan()
    student.admit(s, plan)
    equal(fed(plan, every), [(0, 6), (1, 3), (2, 1)], what="wrong chunks, as pairs (index in the queue, number of tokens)")
    equal(queues(s, every), [[0, 1, 2], [3]], what="wrong s.running and s.waiting, as indices into the queue")
    equal([each.sequence.length for each in every[:3]], [6, 3, 1], what="wrong lengths of the sequences")
    that(every[3].sequence is None, "a request that waits has a sequence", expected="None", got="a sequence")
    equal([each.arrival for each in every], [4.0, 3.0, 2.0, 1.0], what="the arrivals of the requests have changed; the queue is the order")
    equal(s.pool.num_free, 0, what="wrong num_free: room is made for the tokens that are fed, and for no others")


@checks("admit")
def test_behind_those_who_run(student):
    """the plan already feeds a running request: with one place left, one request is admitted; without budget left, none"""
    s = scheduler_of(student, 20, 4, 8, 2)
    old = running(student, s, [1] * 6, 6, output=[9])
    old.sequence.grow(1)
    every = [old, *queue(student, s, [2] * 5, [3] * 2)]
    plan = student.Plan([(old, 1)])
    student.admit(s, plan)
    equal(fed(plan, every), [(0, 1), (1, 5)], what="wrong chunks, as pairs (index in the list old, first, second; number of tokens)")
    equal(queues(s, every), [[0, 1], [2]], what="wrong s.running and s.waiting, as indices into the list old, first, second")
    again = student.Plan([(old, 8)])
    s.max_running = 3
    student.admit(s, again)
    equal(len(again.chunks), 1, what="wrong number of chunks: the budget is used up, and nobody may be admitted")


@checks("admit", weight=2)
def test_nobody_overtakes(student):
    """the first waiting request does not fit, the second would: neither is admitted, and no block is taken"""
    s = scheduler_of(student, 3, 4, 32, 4)
    old = running(student, s, [1] * 8, 8, output=[9])
    every = [old, *queue(student, s, [2] * 6, [3] * 2)]
    plan = student.Plan([(old, 1)])
    student.admit(s, plan)
    overtaken = "The second request has overtaken the first, which does not fit and waits."
    what, suspects = "wrong chunks, as pairs (index in the list old, first, second; number of tokens)", [([(0, 1), (2, 2)], overtaken)]
    equal(fed(plan, every), [(0, 1)], what=what, suspects=suspects)
    equal(queues(s, every), [[0], [1, 2]], what="wrong s.running and s.waiting, as indices into the list old, first, second")
    free = every[1].sequence is None and every[2].sequence is None
    that(free, "a request that waits has a sequence", expected="None", got="a sequence")
    equal(s.pool.num_free, 1, what="wrong num_free")


@checks("admit")
def test_one_that_gave_way_comes_back(student):
    """a preempted request with 3 prompt and 4 output tokens: all 7 are fed if the pool knows none, 1 if the pool knows 6"""
    s = scheduler_of(student, 8, 4, 32, 4)
    s.waiting = [request] = [student.Request([1, 2, 3], 9, output=[4, 5, 6, 7])]
    plan = student.Plan()
    student.admit(s, plan)
    alone = "Only the prompt is fed: the answer so far is part of the text, too."
    what = "wrong chunks, as pairs (index in the queue, number of tokens)"
    equal(fed(plan, [request]), [(0, 7)], what=what, suspects=[([(0, 3)], alone)])
    equal([request.sequence.length, request.remaining], [7, 0], what="wrong length of the sequence, and number of remaining tokens")
    s = scheduler_of(student, 8, 2, 32, 4)
    gone = student.start_sequence(s.pool, request.tokens, 2)
    gone.grow(6)
    student.publish_blocks(gone, request.tokens)
    gone.free()
    s.waiting = [request] = [student.Request([1, 2, 3], 9, output=[4, 5, 6, 7])]
    plan = student.Plan()
    student.admit(s, plan)
    equal(fed(plan, [request]), [(0, 1)], what=f"{what}: the pool knows 6 of the 7 tokens")
    s.waiting = [request] = [student.Request([1, 2, 3], 9, output=[4, 5, 6])]
    plan = student.Plan()
    student.admit(s, plan)
    nothing = "Nothing is fed: the model says the next token only after a token that it is fed, so the text's last block is computed again."
    equal(fed(plan, [request]), [(0, 2)], what=f"{what}: the pool knows all 6 tokens", suspects=[([(0, 0)], nothing)])


@checks("admit")
def test_many_wait(student):
    """40 prompts of 2 tokens and one of 900, budget 900: all are admitted, the last is fed 820; a prompt as large as the pool fits"""
    s = scheduler_of(student, 98, 16, 900, 50)
    every = queue(student, s, *([i % 6] * 2 for i in range(40)), [50] * 900)
    plan = student.Plan()
    student.admit(s, plan)
    equal(fed(plan, every), [*((i, 2) for i in range(40)), (40, 820)], what="wrong chunks, as pairs (index in the queue, number of tokens)")
    equal([len(s.running), len(s.waiting), s.pool.num_free], [41, 0, 6], what="wrong numbers of running and waiting requests, and num_free")
    s = scheduler_of(student, 200, 16, 3_200, 2)
    every, plan = queue(student, s, list(range(3_200))), student.Plan()
    student.admit(s, plan)
    equal(fed(plan, every), [(0, 3_200)], what="wrong chunks where a prompt needs all 200 blocks of the pool")


@checks("admit", weight=2)
def test_what_the_pool_knows_is_taken_over(student):
    """the pool knows 12 tokens of a text of 14: 2 are fed; without room, the request waits and gives its 3 known blocks back"""
    text = list(range(14))
    for num_blocks, room in ((8, True), (5, False)):
        s = scheduler_of(student, num_blocks, 4, 32, 4)
        first = student.start_sequence(s.pool, text, 4)
        first.grow(14)
        student.publish_blocks(first, text)
        first.free()
        old = running(student, s, [30] * 6, 6, output=[9])
        [request] = queue(student, s, text)
        plan = student.Plan()
        student.admit(s, plan)
        if room:
            equal(fed(plan, [request]), [(0, 2)], what="wrong chunks, as pairs (index in the queue, number of tokens)")
            equal([request.sequence.length, s.pool.num_free], [14, 2], what="wrong length of the sequence, and num_free")
        else:
            equal(
                fed(plan, [request]),
                [],
                what="there is no room, and it was admitted; chunks as pairs (index in the queue, number of tokens)",
            )
            equal([len(s.waiting), s.pool.num_free], [1, 3], what="wrong length of the queue, and num_free after a refusal")
            that(request.sequence is None, "a request that waits has a sequence", expected="None", got="a sequence")
            equal(len(s.pool.find(chained(text, 4))), 3, what="wrong number of the text's blocks that the pool finds after a refusal")
            s.pool.take()
            s.pool.take()
            what = "wrong number of these blocks that it finds when two were taken for another text: `free` gives the end back first"
            equal(len(s.pool.find(chained(text, 4))), 1, what=what)
        equal(old.sequence.length, 6, what="wrong length of the sequence of another one, who runs")


@checks("admit", weight=2)
def test_stories_of_those_who_wait(student, rng):
    """random states, texts partly known to the pool: chunks, running, waiting, all requests and the free blocks are right"""
    for num_blocks, size, budget, max_running in ((10, 4, 20, 4), (9, 2, 12, 3), (26, 1, 24, 6)):

        def play(steps, num_blocks=num_blocks, size=size, budget=budget, max_running=max_running):
            numbers = {"num_blocks": num_blocks, "size": size, "budget": budget, "max_running": max_running}
            on_a_board(student, steps, lambda each: each.admit(), chunk=True, **numbers)

        random_steps(lambda: board(rng, waiting=3, known=2), play, count=5)


# ---- update --------------------------------------------------------------------------------------------------------


@checks("update", weight=2)
def test_who_gets_its_token(student):
    """a decode, also with all blocks full, and the end of a prompt get a token; the middle of a prompt gets none"""
    s = scheduler_of(student, 20, 4, 16, 4)
    every = [
        running(student, s, [1] * 6, 7, output=[8]),
        running(student, s, [2] * 5, 5),
        running(student, s, [3] * 9, 4),
    ]
    plan = student.Plan([(every[0], 1), (every[1], 5), (every[2], 4)])
    ended = student.update(s, plan, [41, 42, 43])
    equal(places(ended, every), [], what="wrong result: nobody has ended; requests as indices into the plan")
    equal([each.output for each in every], [[8, 41], [42], []], what="wrong outputs")
    equal([each.remaining for each in every], [1, 1, 5], what="wrong numbers of remaining tokens")
    equal([places(s.running, every), s.pool.num_free], [[0, 1, 2], 15], what="wrong s.running, as indices into the plan, or wrong num_free")
    s = scheduler_of(student, 3, 2, 8, 2)
    last = running(student, s, [4] * 4, 5, output=[8])
    ended = student.update(s, student.Plan([(last, 1)]), [9])
    what = "wrong number of requests that ended, and output: all blocks are full, and the newest token needs no room yet"
    equal([len(ended), last.output], [0, [8, 9]], what=what)


@checks("update", weight=2)
def test_how_a_request_ends(student):
    """a request ends with its own EOS, which it keeps, or at max_new_tokens; the ended requests are in the plan's order"""
    s = scheduler_of(student, 20, 4, 16, 4)
    every = [
        running(student, s, [1] * 6, 6, new=5, eos_token_id=700, arrival=2.0),
        running(student, s, [2] * 5, 6, new=2, output=[700], arrival=5.0),
        running(student, s, [3] * 4, 4, new=5, eos_token_id=800, arrival=1.0),
        running(student, s, [4] * 4, 4, new=1, arrival=9.0),
    ]
    plan = student.Plan([(every[3], 4), (every[0], 6), (every[2], 4), (every[1], 1)])
    ended = student.update(s, plan, [0, 700, 700, 9], _unchanged=True)
    equal([each.output for each in every], [[700], [700, 9], [700], [0]], what="wrong outputs, the oldest's first")
    equal(places(ended, every), [3, 0, 1], what="wrong list of ended requests, in the plan's order, as indices into the s.running before")
    equal(places(s.running, every), [2], what="wrong s.running, as indices into the s.running before")
    equal(places(s.waiting, every), [], what="wrong s.waiting")
    gone = all(every[i].sequence is None for i in (0, 1, 3))
    that(gone, "a request that has ended still has a sequence", expected="None", got="a sequence")
    equal(s.pool.num_free, 19, what="wrong num_free: who has ended gives its blocks back")


@checks("update")
def test_what_was_computed_can_be_found(student):
    """the pool finds the whole blocks of every request fed, also of a half-fed prompt and of an ended request"""
    s = scheduler_of(student, 20, 4, 32, 4)
    every = [
        running(student, s, list(range(10, 22)), 9),
        running(student, s, list(range(30, 38)), 8, new=1),
        running(student, s, list(range(40, 43)), 4, output=[9]),
        running(student, s, list(range(50, 58)), 4),
    ]
    plan = student.Plan([(every[0], 9), (every[1], 8), (every[2], 1)])
    student.update(s, plan, [41, 42, 43])
    texts = [range(10, 22), range(30, 38), [40, 41, 42, 9, 43], range(50, 58)]
    known = [len(s.pool.find(chained(list(text), 4))) for text in texts]
    equal(known, [2, 2, 1, 0], what="wrong numbers of blocks of the four texts that the pool finds; the last one was not fed")
    equal(s.pool.num_free, 20 - 3 - 1 - 1, what="wrong num_free")


@checks("update")
def test_many_were_fed(student):
    """20 pairs of requests with the same text: only one of each pair ends; 68 whole blocks of a text of 1,100 tokens are published"""
    s = scheduler_of(student, 130, 16, 1_999, 50)
    every = [running(student, s, [i // 2] * 2, 2, new=2 - i % 2) for i in range(40)] + [running(student, s, list(range(1_100)), 1_100)]
    plan = student.Plan([*((each, 2) for each in every[:40]), (every[40], 1_100)])
    s.waiting = [late] = [student.Request([0] * 2, 2)]
    ended = student.update(s, plan, [i // 2 for i in range(41)])
    equal(places(ended, every), list(range(1, 40, 2)), what="wrong list of ended requests, as indices into the plan")
    what = "wrong s.running and s.waiting, as indices into the plan; the one that waits is 41"
    equal(queues(s, [*every, late]), [[*range(0, 40, 2), 40], [41]], what=what)
    equal([each.output for each in every], [[i // 2] for i in range(41)], what="wrong outputs")
    found = len(s.pool.find(chained(list(range(1_100)), 16)))
    equal([found, s.pool.num_free], [68, 41], what="wrong number of the long text's blocks that the pool finds, or wrong num_free")


@checks("update")
def test_stories_of_ended_steps(student, rng):
    """random states and plans: outputs, ended requests, running, waiting and the blocks that the pool finds are right"""

    def play(steps):
        tokens = [7, 3, 9] if len(steps) % 2 else [3, 7]
        on_a_board(student, steps, lambda each: each.update(tokens), chunk=True, num_blocks=20, size=4, budget=40, max_running=4)

    random_steps(lambda: board(rng, waiting=1, known=0), play, count=12)


@checks("update")
def test_whole_schedules(student, rng):
    """random whole schedules, some requests aborted: every plan, the tokens in each slot and every output are right"""
    for _ in range(5):
        given = numbers(rng)
        random_steps(lambda: arrivals(rng, 6), lambda steps, given=given: play_schedule(student, steps, given), count=1)


# ---- flatten_chunks ------------------------------------------------------------------------------------------------


def flat_of(student, texts, before, counts, size=4):
    """(what flatten_chunks gives for chunks of these texts, the requests)."""
    s = scheduler_of(student, 120, size, 90, 8)
    requests = [running(student, s, list(text), cached + n) for text, cached, n in zip(texts, before, counts, strict=True)]
    return student.flatten_chunks(list(zip(requests, counts, strict=True))), requests


def look_at_flat(flat, ids, positions, bounds, suspects=()):
    """Compares all three parts, and their dtypes."""
    equal(flat.positions, torch.tensor(positions), what="wrong positions", suspects=suspects)
    equal(flat.ids, torch.tensor([ids]), what="wrong ids")
    that(isinstance(flat.bounds, list), "bounds is not a list", expected="a list of numbers", got=type(flat.bounds).__name__)
    equal(flat.bounds, bounds, what="wrong bounds", suspects=[(bounds[1:], "The first chunk begins at 0, and that is a bound too.")])
    for name, got in (("ids", flat.ids), ("positions", flat.positions)):
        equal(str(got.dtype), "torch.int64", what=f"wrong dtype of the {name}")


@checks("flatten_chunks", weight=2)
def test_two_chunks_by_hand(student, hand):
    """three tokens of one text, two of another from position 2 on: ids, positions and bounds are right"""
    case = hand["flat"]
    flat, _ = flat_of(student, case["texts"], case["before"], case["fed"])
    restart = [t for n in case["fed"] for t in range(n)]
    suspects = [  # only if the tokens are the right ones: other tokens have other positions
        (restart, "The positions start again at 0 in each chunk: a token's position is its place in its text."),
        (list(range(5)), "The positions run on from one chunk to the next: each text has positions of its own."),
    ]
    right_tokens = isinstance(flat.ids, torch.Tensor) and flat.ids.flatten().tolist() == case["ids"]
    look_at_flat(flat, case["ids"], case["positions"], case["bounds"], suspects if right_tokens else ())


@checks("flatten_chunks")
def test_newest_tokens_and_one_chunk(student):
    """a decode feeds the newest token of its own output, also if prompts are equal; one chunk alone is right; nothing is changed"""
    s = scheduler_of(student, 20, 4, 20, 4)
    every = [running(student, s, [5, 6, 7], 5, output=[8, 9]), running(student, s, [1, 2], 2), running(student, s, list(range(40, 49)), 6)]
    every.append(running(student, s, [5, 6, 7], 4, output=[3, 2]))  # the first one's prompt, and another answer
    flat = student.flatten_chunks([(every[0], 1), (every[1], 2), (every[2], 1), (every[3], 2)], _unchanged=True)
    look_at_flat(flat, [9, 1, 2, 45, 7, 3], [4, 0, 1, 5, 2, 3], [0, 1, 3, 4, 6])
    look_at_flat(student.flatten_chunks([(every[0], 4)]), [6, 7, 8, 9], [1, 2, 3, 4], [0, 4])
    equal([each.sequence.length for each in every], [5, 2, 6, 4], what="the lengths of the sequences have changed")
    equal([every[0].prompt, every[0].output], [[5, 6, 7], [8, 9]], what="prompt and output of the first have changed")


@checks("flatten_chunks")
def test_many_chunks(student):
    """40 chunks of 2 tokens, some of them equal, and one of 700 from position 300 on: ids, positions and bounds are right"""
    firsts = [i // 2 for i in range(40)]
    texts, before = [[i, i + 1, i + 2] for i in firsts] + [list(range(1000))], [1] * 40 + [300]
    flat, _ = flat_of(student, texts, before, [2] * 40 + [700], size=16)
    ids = [token for i in firsts for token in (i + 1, i + 2)] + list(range(300, 1000))
    look_at_flat(flat, ids, [1, 2] * 40 + list(range(300, 1000)), [*range(0, 81, 2), 780])


@checks("flatten_chunks")
def test_large_tokens_and_far_positions(student):
    """positions above 33,000 and a token id above 30 million are exact"""
    s = scheduler_of(student, 40, 1000, 9, 4)
    every = [running(student, s, [9_000 + t % 90 for t in range(34_000)], 33_501), running(student, s, [8, 30_000_001], 2)]
    look_at_flat(student.flatten_chunks([(every[0], 2), (every[1], 1)]), [9_019, 9_020, 30_000_001], [33_499, 33_500, 1], [0, 2, 3])


# ---- forward_ragged ------------------------------------------------------------------------------------------------


def tokens(count, seed):
    return torch.randint(3, 1000, (1, count), generator=torch.Generator().manual_seed(seed))


@checks("forward_ragged", weight=3)
def test_chunks_side_by_side(student):
    """chunks of prompts beside newest tokens, blocks of 4 and 16: each chunk's logits are the model's for its text alone"""
    written(lambda *_: student.forward_ragged(None, None, None, None))
    model = student.model("tiny", dtype=torch.float64)
    for size in (4, 16):
        texts = Texts(
            student, model, whole(), [tokens(n, n) for n in (12, 9, 20)], filled(student, 60 // size + 4, size), 60 // size + 4, size
        )
        for pieces in ([(0, 7), (1, 3)], [(0, 1), (1, 5), (2, 6)], [(2, 13)], [(0, 4), (2, 1), (1, 1)]):
            got, want = texts.step(pieces)
            what = f"wrong logits for chunks of {[n for _, n in pieces]} tokens, blocks of {size}"
            close(got, want, atol=1e-3, dtype=torch.float64, what=what)


@checks("forward_ragged", weight=2)
def test_one_chunk_and_many_newest_tokens(student):
    """a prompt alone, six newest tokens in one pass, and another text in a freed sequence: the logits are right"""
    written(lambda *_: student.forward_ragged(None, None, None, None))
    model = student.model("tiny", dtype=torch.float64)
    texts = Texts(student, model, whole(), [tokens(n + 2, n) for n in (4, 1, 9, 6, 3, 8)], filled(student, 30, 4), 30, 4)
    for which, n in enumerate((4, 1, 9, 6, 3, 8)):
        got, want = texts.step([(which, n)])
        close(got, want, atol=1e-3, what=f"wrong logits after a prompt of {counted(n, 'token')}")
    for _ in range(2):
        got, want = texts.step([(which, 1) for which in (3, 0, 5, 1, 4, 2)])
        close(got, want, atol=1e-3, what="wrong logits after six newest tokens")
    texts.again(2, tokens(11, 99))
    got, want = texts.step([(2, 11)])
    close(got, want, atol=1e-3, what="wrong logits after another text in the same sequence, in other blocks")


@checks("forward_ragged")
def test_many_chunks_and_a_long_one(student, rng):
    """40 newest tokens beside a chunk of 300, and blocks with high numbers: right logits; gradient mode is left as it was"""
    written(lambda *_: student.forward_ragged(None, None, None, None))
    model, kit = small(student, rng, vocab_size=29, num_hidden_layers=2)
    ids = [torch.randint(29, (1, n), generator=rng) for n in (*[2] * 40, 301)]
    texts = Texts(student, model, kit, ids, filled(student, 120, 4, config=kit.config), 120, 4)
    for pieces in ([*((i, 1) for i in range(40)), (40, 300)], [(i, 1) for i in reversed(range(41))]):
        got, want = texts.step(pieces)
        close(got, want, atol=1e-3, what="wrong logits for 41 chunks")
    in_high_blocks(student, model, kit, ids[40][:, :9], [8_299, 8_191, 5])
    flat = student.Flat(ids[40][:, :1], torch.tensor([300]), [0, 1])  # the newest token once more
    gradient_mode_stays(student, lambda: student.forward_ragged(model, flat, texts.sequences[40:], texts.kv))


def in_high_blocks(student, model, kit, ids, blocks):
    """Feed a whole text in these blocks of 4, in a memory that holds them."""
    n = ids.shape[1]
    kv, sequence = filled(student, max(blocks) + 1, 4, config=kit.config), student.PagedSequence(student.PrefixPool(1), 4)
    sequence.blocks, sequence.length = blocks, n
    got = student.forward_ragged(model, student.Flat(ids, torch.arange(n), [0, n]), [sequence], kv)
    close(got, kit(ids)[:, -1], atol=1e-3, what=f"wrong logits of a text in the blocks {blocks} of 4")


def in_a_long_text(student, rng, counts):
    """Feed chunks of these lengths, one after the other, of one text to a small model that reads up to 4,096 tokens."""
    config = small_config(vocab_size=29, num_hidden_layers=1, max_position_embeddings=4096)
    weights = small_weights(rng, config).to(device="cpu", dtype=torch.float64)
    model, kit = student.WeightsOnly(config, weights, None), kit_model(config, weights)
    ids = torch.randint(29, (1, sum(counts)), generator=rng)
    texts = Texts(student, model, kit, [ids], filled(student, 90, 32, config=config), 90, 32)
    for n in counts:
        got, want = texts.step([(0, n)])
        close(got, want, atol=1e-5, what=f"wrong logits after {texts.lengths[0]:,} tokens of one text, the last {n:,} of them fed at once")


@checks("forward_ragged")
def test_all_of_a_long_text_is_seen(student, rng):
    """a text of 2,103 tokens in chunks of 2,100 and 3: the logits after each chunk are right"""
    written(lambda *_: student.forward_ragged(None, None, None, None))
    in_a_long_text(student, rng, [2_100, 3])


@checks("forward_ragged")
def test_work_of_a_step(student):
    """work: chunks of 36 and 5 tokens: no padding, and the head computes one row for each chunk"""
    written(lambda *_: student.forward_ragged(None, None, None, None))
    model = student.model("tiny")
    texts = Texts(student, model, whole(torch.float32), [tokens(40, 1), tokens(20, 2)], filled(student, 20, 8, dtype=torch.float32), 20, 8)
    texts.step([(0, 2), (1, 4)])
    with student.counting() as work:
        got, want = texts.step([(0, 36), (1, 5)])
    close(got, want, atol=1e-2, rtol=1e-3, dtype=torch.float32, what="wrong logits")
    equal(work.positions, 41, what="wrong number of positions for chunks of 36 and 5 tokens")
    config = whole().config
    least = fewest_flops(config, [36]) + fewest_flops(config, [5])
    between(work.flops, least, 1.05 * most_flops(config, [(36, 38), (5, 9)]), "FLOPs")


@checks("forward_ragged", weight=2)
def test_weights_are_read_once(student):
    """work: sixteen texts with one token each: the weights are read once, not once for each text"""
    written(lambda *_: student.forward_ragged(None, None, None, None))
    fast, rows, context = 100 * 1024, 16, 24
    model, kit = student.model("tiny"), whole(torch.float32)
    texts = Texts(student, model, kit, [tokens(context + 1, i) for i in range(rows)], filled(student, 40, 16, dtype=torch.float32), 40, 16)
    texts.step([(i, context) for i in range(rows)])
    with student.counting(fast_bytes=fast) as work:
        got, want = texts.step([(i, 1) for i in range(rows)])
    close(got, want, atol=1e-2, rtol=1e-3, what="wrong logits")
    config, weights = kit.config, kit.weights_only().weights
    matrices = [each for layer in weights.layers for each in vars(layer).values()] + [weights.lm_head]
    cached = rows * (context + 1) * 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * 4
    least = sum(each.nbytes for each in matrices if each.nbytes > fast) + cached
    between(work.slow_bytes, least, 3 * least, "bytes read from and written to slow memory")


# ---- engine_step ---------------------------------------------------------------------------------------------------


def serve(student, prompts, new, *, num_blocks, size, budget, max_running, eos=None, model=None):
    """(the requests, those that engine_step has given as ended) of a run to its end, the tokens of which are greedy."""
    model = model or student.model("tiny", dtype=torch.float64)
    kv, s = filled(student, num_blocks, size), scheduler_of(student, num_blocks, size, budget, max_running)
    options = {} if eos is None else {"eos_token_id": eos}
    requests = [student.Request(prompt, new, **options) for prompt in prompts]
    for request in requests:
        s.add(request)
    ended = []
    for _ in range(40 * len(prompts)):
        if not s.waiting and not s.running:
            break
        ended += student.engine_step(model, s, kv)
    equal(s.pool.num_free, num_blocks, what="wrong num_free at the end of the run: all should have ended and given their blocks back")
    return requests, ended


@checks("engine_step", weight=2)
def test_the_ladder(student):
    """the ladder: four prompts with a large budget, a small budget and too few blocks give the tokens of the loop without a cache"""
    written(lambda *_: student.engine_step(None, None, None))
    ids = [tiny_ids(prompt) for prompt in PROMPTS]
    prompts = [each[0].tolist() for each in ids]
    alone = [unrolled(whole(), each, 5, 256)[0].tolist() for each in ids]
    for budget, num_blocks, eos in ((64, 40, None), (6, 40, alone[2][1]), (8, 9, None)):
        numbers = {"num_blocks": num_blocks, "size": 4, "budget": budget, "max_running": 3, "eos": eos}
        requests, ended = serve(student, prompts, 5, **numbers)
        for request, said in zip(requests, alone, strict=True):
            want = said[: said.index(eos) + 1] if eos in said else said
            equal(request.output, want, what=f"wrong output with a budget of {budget} and {num_blocks} blocks")
        equal(sorted(places(ended, requests)), [0, 1, 2, 3], what="wrong requests given as ended, as indices into the queue")


@checks("engine_step", weight=2)
def test_step_by_step(student):
    """a small budget and too few blocks for all requests: after every step, running, waiting, cached tokens and outputs are right"""
    written(lambda *_: student.engine_step(None, None, None))
    ids = [tiny_ids(prompt) for prompt in (PROMPTS[2], PROMPTS[0], PROMPTS[1], PROMPTS[1])]
    said = [unrolled(whole(), each, 4, 256)[0].tolist() for each in ids]
    for budget, num_blocks, size in ((4, 6, 4), (12, 9, 3)):
        served = Served(student, [each[0].tolist() for each in ids], said, Desk(num_blocks, size, budget, max_running=3))
        while not served.done:
            served.step()


@checks("engine_step")
def test_many_are_served(student):
    """34 requests run together and give the tokens of the loop without a cache; gradient mode is left as it was"""
    written(lambda *_: student.engine_step(None, None, None))
    prompts = [[20 + i] for i in range(34)]
    requests, ended = serve(student, prompts, 2, num_blocks=44, size=4, budget=54, max_running=38)
    want = [unrolled(whole(), torch.tensor([prompt]), 2, 256)[0].tolist() for prompt in prompts]
    equal([request.output for request in requests], want, what="wrong outputs of 34 requests")
    equal(len(ended), 34, what="wrong number of requests that were given as ended")
    model, kv, s = student.model("tiny"), filled(student, 4, 4, dtype=torch.float32), scheduler_of(student, 4, 4, 4, 2)
    s.add(student.Request([20, 21], 3))
    gradient_mode_stays(student, lambda: student.engine_step(model, s, kv))


def one_pass(student, rng, rows):
    """Serve so many requests with a small model: a step of one newest token each and a prompt reads the weights once."""
    wide = {"hidden_size": 128, "intermediate_size": 128, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64}
    model, kit = small(student, rng, vocab_size=29, num_hidden_layers=1, **wide)
    s, kv = scheduler_of(student, 2 * rows + 2, 2, rows + 3, rows + 1), filled(student, 2 * rows + 2, 2, config=kit.config)
    requests = [student.Request([i % 29], 3) for i in range(rows)]
    for request in requests:
        s.add(request)
    student.engine_step(model, s, kv)
    s.add(student.Request([5, 6, 7], 2))
    fast = 100 * 1024  # a matrix of 128 x 128 is larger; scores of 45 tokens with all keys of the step, in one tensor, are not
    least = sum(each.nbytes for layer in kit.weights_only().weights.layers for each in vars(layer).values() if each.nbytes > fast)
    with student.counting(fast_bytes=fast) as work:
        equal(student.engine_step(model, s, kv), [], what="wrong result: nobody has ended")
    equal([len(each.output) for each in requests], [2] * rows, what="wrong numbers of tokens that were said")
    between(work.slow_bytes, least, 1.5 * least, f"bytes read from and written to slow memory for {rows} requests and a prompt")


@checks("engine_step")
def test_all_share_one_pass(student, rng):
    """work: 20 newest tokens and a prompt in one step: the weights are read once for all requests together"""
    written(lambda *_: student.engine_step(None, None, None))
    one_pass(student, rng, 20)


@checks("engine_step")
def test_the_scheduler_is_asked(student):
    """a scheduler whose own `schedule` feeds 2 of 5 tokens: engine_step runs this plan"""
    written(lambda *_: student.engine_step(None, None, None))
    model, kv, s = student.model("tiny", dtype=torch.float64), filled(student, 8, 4), scheduler_of(student, 8, 4, 8, 2)
    request = student.Request([5, 6, 7, 8, 9], 1)
    s.waiting = [request]
    stricter(student, s, request, 2)
    equal(student.engine_step(model, s, kv), [], what="wrong result: 2 of 5 tokens were to be fed, and nobody has ended")
    fed_of = None if request.sequence is None else request.sequence.length
    equal([fed_of, request.output], [2, []], what="wrong length of the sequence or wrong output: s.schedule() feeds 2 of 5 tokens")


@checks("engine_step")
def test_nothing_to_feed(student):
    """no request waits or runs: the result is [], and no token goes through the model; a request for one token ends in one step"""
    written(lambda *_: student.engine_step(None, None, None))
    model, kv = student.model("tiny", dtype=torch.float64), filled(student, 8, 4)
    s = scheduler_of(student, 8, 4, 8, 2)
    with student.counting() as work:
        equal(student.engine_step(model, s, kv), [], what="wrong result of a step in which nobody is fed")
    equal(work.positions, 0, what="wrong number of positions that went through the model, with nobody to feed")
    request = student.Request(tiny_ids("ROMEO:\n")[0].tolist(), 1)
    s.add(request)
    with student.counting() as work:
        ended = student.engine_step(model, s, kv)
    equal(work.positions, len(tiny_ids("ROMEO:\n")[0]), what="wrong number of positions for one prompt")
    equal(places(ended, [request]), [0], what="wrong result: the request ends with its single token; as indices into the queue")
    equal(request.output, unrolled(whole(), tiny_ids("ROMEO:\n"), 1, 256)[0].tolist(), what="wrong output of a request for one token")


# The same answers; in each step the model reads every text once more from its beginning.
READ_ANEW = """
from solutions.kv_cache import KVCache, prefill

_together = forward_ragged

def forward_ragged(model, flat, sequences, kv):
    for sequence in sequences:
        again = KVCache(model.config, 1, sequence.length, model.weights.embed_tokens.dtype)
        prefill(model, torch.zeros(1, sequence.length, dtype=torch.int64), again)
    return _together(model, flat, sequences, kv)
"""


@checks("engine_step", timing=True)
def test_faster_than_reading_texts_anew(race):
    """speed: six tokens after a prompt of 1,024 are faster than with a step that reads every text from its beginning"""

    def prompts(rng):
        return torch.randint(3, 1000, (1, 1024), generator=rng)

    def answers(s, inputs):
        model, kv = s.model("tiny"), filled(s, 160, 16, dtype=torch.float32)
        scheduler = scheduler_of(s, 160, 16, 2048, 4)
        requests = [s.Request(prompt, 6) for prompt in inputs.tolist()]
        for request in requests:
            scheduler.add(request)
        for _ in range(6):
            s.engine_step(model, scheduler, kv)
        return torch.cat((inputs, torch.tensor([request.output for request in requests])), dim=1)

    cause = "A step feeds the newest tokens; keys and values of what was fed before lie in the blocks."
    race.against(READ_ANEW, prompts, answers, agree=best_of_all, cause=cause)


# ---- step_seconds --------------------------------------------------------------------------------------------------


@checks("step_seconds", weight=2)
def test_seconds_by_hand(student, hand):
    """weights 5 ms, a token fed 10 us, a token cached 0.1 us: right times for a decode, a prompt, two decodes, and mixed steps"""
    case = hand["seconds"]
    weight, token, kv = (1000 * case[f"{name}_seconds"] for name in ("weight", "token", "kv"))  # in milliseconds
    for pairs, want in zip(case["chunks"], [1000 * seconds for seconds in case["seconds"]], strict=True):
        chunks = [tuple(pair) for pair in pairs]
        fed_, cached = sum(n for n, _ in chunks), sum(length for _, length in chunks)
        suspects = [
            (
                weight + cached * kv + fed_ * token,
                "Reading and multiplying go on at the same time: the longer one counts, and not the sum.",
            ),
            (sum(max(weight + m * kv, n * token) for n, m in chunks), "The weights are read once a step, and not once a request."),
        ]
        suspects = [(value, cause) for value, cause in suspects if abs(value - want) > 1e-3]
        got = student.step_seconds(chunks, weight_seconds=weight, token_seconds=token, kv_seconds=kv, _unchanged=True)
        close(got, want, atol=1e-6, what=f"wrong milliseconds for {chunks}", suspects=suspects)


@checks("step_seconds")
def test_seconds_of_many(student):
    """40 requests, one with 100,000 cached tokens: the time is right; a step without chunks takes the time to read the weights"""
    chunks = [(2, 10 + i // 3) for i in range(39)] + [(3, 100_000)]
    rates = {"weight_seconds": 1.0, "token_seconds": 0.25, "kv_seconds": 0.001}
    close(student.step_seconds(chunks, **rates), 1.0 + 0.001 * 100_624, what="wrong seconds for 40 requests, with a long cache")
    rates["kv_seconds"] = 0.0
    close(student.step_seconds(chunks, **rates), 0.25 * 81, what="wrong seconds for 40 requests, 81 tokens fed")
    close(student.step_seconds([], **rates), 1.0, what="wrong seconds for a step without chunks")


@checks("step_seconds")
def test_so_many_ride_along(student, hand):
    """Llama-3-8B on an H100: a chunk of 295 tokens takes as long as one token, and a prompt of 4,000 takes 64.7 ms"""
    case = hand["llama3_8b"]
    rates = {
        "weight_seconds": case["weight_bytes"] / case["bandwidth"],
        "token_seconds": case["flops_per_token"] / case["peak_flops"],
        "kv_seconds": case["kv_bytes_per_token"] / case["bandwidth"],
    }
    alone = student.step_seconds([(1, 1)], **rates)
    close(alone, case["weight_seconds"], rtol=2e-4, atol=0, what="wrong seconds for one token")
    close(student.step_seconds([(case["ride"], 1)], **rates), alone, atol=1e-12, what="wrong seconds for 295 tokens")
    close(
        student.step_seconds([(case["ride"] + 1, 1)], **rates),
        296 * rates["token_seconds"],
        atol=1e-12,
        what="wrong seconds for 296 tokens",
    )
    close(
        student.step_seconds([(4000, 4000)], **rates), case["prompt_seconds"], rtol=2e-4, atol=0, what="wrong seconds for a prompt of 4,000"
    )


# ---- simulate ------------------------------------------------------------------------------------------------------


def a_second(chunks):
    return 1.0


def look_at_traces(traces, arrivals_, times, step=None):
    """Compares arrivals and token times, request by request, both to a millionth. step: the length of all steps, if they are alike."""
    that(isinstance(traces, list), "the result is not a list of traces", got=type(traces).__name__)
    equal(len(traces), len(times), what="wrong number of traces")

    def exact(got, want, what, suspects=()):
        got, want = (torch.tensor(each, dtype=torch.float64) for each in (got, want))
        close(got, want, atol=1e-6, rtol=0.0, what=what, suspects=suspects)

    exact([trace.arrival for trace in traces], arrivals_, "wrong arrivals, trace by trace")
    for i, (trace, want) in enumerate(zip(traces, times, strict=True)):
        equal(len(trace.token_times), len(want), what=f"wrong number of token times of request {i}")
        begins = "These are the times at which the steps begin: a token's time is the end of its step."
        suspects = [] if step is None else [([time - step for time in want], begins)]
        exact(trace.token_times, want, f"wrong token times of request {i}", suspects)


@checks("simulate", weight=2)
def test_three_requests_by_hand(student, hand):
    """steps of one second, a request at 0, one during a step, and one after idle time: traces and outputs are right"""
    case = hand["schedule"]
    prompts = zip(case["prompts"], case["new"], case["arrivals"], strict=True)
    requests = [student.Request([i] * n, new, arrival=arrival) for i, (n, new, arrival) in enumerate(prompts)]
    s = scheduler_of(student, 20, case["block_size"], case["budget"], case["max_running"])
    traces = student.simulate(requests, s, a_second)
    look_at_traces(traces, case["arrivals"], case["token_times"], step=1.0)
    equal([each.output for each in requests], [[0] * n for n in case["new"]], what="wrong outputs")


@checks("simulate")
def test_who_gives_way_by_hand(student, hand):
    """two requests in four blocks: one is preempted and computed again, and all token times are right"""
    case = hand["preempted"]
    requests = [student.Request([i + 1] * case["prompt"], case["new"]) for i in range(2)]
    s = scheduler_of(student, case["num_blocks"], case["block_size"], case["budget"], case["max_running"])
    look_at_traces(student.simulate(requests, s, a_second), [0.0, 0.0], case["token_times"])
    equal(s.pool.num_free, case["num_blocks"], what="wrong num_free in the end")


@checks("simulate")
def test_pieces_of_a_text_computed_again(student):
    """a preempted request is computed again in two chunks: the chunk that gives no new token adds no token time"""
    requests = [student.Request([1] * 4, 6), student.Request([2] * 4, 4)]
    traces = student.simulate(requests, scheduler_of(student, 2, 8, 4, 2), a_second)
    # Each has one block of 8 until 5; then the first needs the second block. From 6 to 7 the other one's prompt, to 8 its three tokens.
    look_at_traces(traces, [0.0, 0.0], [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [3.0, 4.0, 5.0, 8.0]])


@checks("simulate", weight=2)
def test_what_it_asks(student):
    """`seconds` gets the chunks, `token` is called at most once for each chunk, and their results set times and outputs"""
    asked, said = [], []
    requests = [student.Request([1] * 6, 5, eos_token_id=7, arrival=2.0), student.Request([2] * 3, 2, arrival=1.0)]
    s = scheduler_of(student, 20, 4, 4, 2)

    def seconds(chunks):
        asked.append([tuple(each) for each in chunks])
        return 0.5 * sum(n for n, _ in chunks)

    def token(request):
        said.append(place(request, requests))
        return [7, min(2 + said.count(1), 4)][said[-1]]

    traces = student.simulate(requests, s, seconds, token)
    # From 1.0 to 2.5 the prompt of the one that comes first; to 4.5 its newest token and 3 of the other's; to 6.0 these others' rest.
    equal(
        asked,
        [[(3, 3)], [(1, 4), (3, 3)], [(3, 6)]],
        what="wrong chunks given to `seconds`, as pairs (tokens fed, tokens cached after the step)",
    )
    that(len(said) <= 4, "`token` was called too often", expected="at most once for each of 4 chunks", got=f"{len(said)} calls")
    look_at_traces(traces, [2.0, 1.0], [[6.0], [2.5, 4.5]])
    equal([each.output for each in requests], [[7], [3, 4]], what="wrong outputs: the first one's EOS is 7, the other says 3 and then 4")


@checks("simulate")
def test_the_order_of_traces(student):
    """requests not sorted by arrival, some with equal arrivals: the traces are in the order of the list"""
    order = [3.25, 0.0, 4.25, 0.0, 3.25]
    requests = [student.Request([i] * n, 1, arrival=arrival) for i, (n, arrival) in enumerate(zip((1, 4, 2, 2, 5), order, strict=True))]
    s = scheduler_of(student, 20, 4, 4, 2)
    traces = student.simulate(requests, s, a_second, _unchanged=True)
    # From 0 to 1 the four tokens of 1, to 2 both of 3; from 3.25 on 0 and three of 4, then the rest of 4 and both of 2.
    look_at_traces(traces, order, [[4.25], [1.0], [5.25], [2.0], [5.25]])
    equal([each.arrival for each in requests], order, what="the arrivals of the requests have changed")


@checks("simulate")
def test_the_list_as_it_was(student):
    """the caller's list of requests is not sorted in place"""
    requests = [student.Request([i] * 2, 1, arrival=arrival) for i, arrival in enumerate((2.5, 0.0, 7.0, 0.5))]
    traces, left = student.simulate(requests, scheduler_of(student, 8, 4, 8, 2), a_second, _arguments=True)
    look_at_traces(traces, [2.5, 0.0, 7.0, 0.5], [[3.5], [1.0], [8.0], [2.0]])
    equal(places(left[0], requests), [0, 1, 2, 3], what="the caller's list has another order, or other requests, afterwards")


@checks("simulate")
def test_an_arrival_in_the_last_step(student):
    """an arrival during another request's only step, or before time 0: the clock does not go back, or jump while requests wait"""
    requests = [student.Request([1], 1), student.Request([2], 2, arrival=0.5)]
    traces = student.simulate(requests, scheduler_of(student, 8, 4, 8, 1), a_second)
    look_at_traces(traces, [0.0, 0.5], [[1.0], [2.0, 3.0]])
    requests = [student.Request([i], 1, arrival=arrival) for i, arrival in enumerate((0.0, 0.0, 9.0))]
    traces = student.simulate(requests, scheduler_of(student, 8, 4, 8, 1), a_second)
    look_at_traces(traces, [0.0, 0.0, 9.0], [[1.0], [2.0], [10.0]])
    order = [-2.25, 1 + 2**-21]  # before the clock begins, and a moment after the second step has begun
    requests = [student.Request([1], 3, arrival=order[0]), student.Request([2], 1, arrival=order[1])]
    traces = student.simulate(requests, scheduler_of(student, 8, 4, 8, 2), a_second)
    look_at_traces(traces, order, [[1.0, 2.0, 3.0], [3.0]])


@checks("simulate")
def test_a_clock_that_has_gone_far(student):
    """token times are exact with steps of 1/4096 s, and after 20 million seconds; without requests there are no traces"""
    begin, step = 20_000_000.0, 0.5
    requests = [student.Request([1, 2], 1), student.Request([3], 3, arrival=begin)]
    traces = student.simulate(requests, scheduler_of(student, 8, 4, 8, 2), lambda chunks: step)
    look_at_traces(traces, [0.0, begin], [[step], [begin + step, begin + 2 * step, begin + 3 * step]])
    short = 2.0**-12
    traces = student.simulate([student.Request([1, 2], 3)], scheduler_of(student, 8, 4, 8, 2), lambda chunks: short)
    look_at_traces(traces, [0.0], [[short, 2 * short, 3 * short]])
    equal(student.simulate([], scheduler_of(student, 8, 4, 8, 2), a_second), [], what="wrong traces where there are no requests")


@checks("simulate")
def test_many_and_a_long_answer(student):
    """40 requests arrive together, 39 for one token and one for 1,100: the 39 end in the first step, and all token times are right"""
    requests = [student.Request([i % 5], 1) for i in range(39)] + [student.Request([50], 1_100)]
    traces = student.simulate(requests, scheduler_of(student, 41, 1_280, 64, 64), a_second)
    look_at_traces(traces, [0.0] * 40, [[1.0]] * 39 + [[float(n) for n in range(1, 1_101)]])


@checks("simulate")
def test_its_steps_are_the_scheduler_s(student):
    """a scheduler whose own `schedule` feeds 2 of 5 tokens: the first call of `seconds` gets this chunk"""
    equal(first_asked(student, 2), [(2, 2)], what="wrong first chunks (fed, cached) for seconds: s.schedule() feeds 2 of 5 tokens")


def first_asked(student, budget):
    """Return the first argument of `seconds` if the scheduler's own `schedule` feeds less of 5 tokens than its budget allows."""
    asked = []

    def seconds(chunks):
        asked.append([tuple(each) for each in chunks])
        raise RuntimeError("one step is enough")

    s, request = scheduler_of(student, 8, 4, 8, 2), student.Request([5, 6, 7, 8, 9], 1)
    stricter(student, s, request, budget)
    try:
        student.simulate([request], s, seconds)
    except Exception:
        if not asked:
            raise
    that(asked, "`seconds` was never asked", expected="a call for each step", got="none")
    return asked[0]
