"""Hidden checks of continuous batching: fresh states, schedules and models, and rules in combination."""

from __future__ import annotations

import torch

from autograder.authoring import checks, close, equal, random_steps, that
from autograder.checking.checks.test_continuous_batching import (
    first_asked,
    in_a_long_text,
    in_high_blocks,
    look_at_flat,
    look_at_traces,
    one_pass,
    serve,
)
from autograder.checking.helpers.cached import small, tiny_ids, unrolled, whole, written
from autograder.checking.helpers.paged import chained, filled, integer, one_of
from autograder.checking.helpers.scheduled import (
    LABELS,
    Desk,
    Row,
    Texts,
    arrivals,
    board,
    clocked,
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
from autograder.checking.helpers.work_bounds import between, fewest_flops
from autograder.checking.hidden.test_kv_cache import SHAPES, random_ids

# ---- preempt -------------------------------------------------------------------------------------------------------


@checks("preempt")
def test_more_states_of_giving_way(student, rng):
    """random states, blocks of 1, 3 and 5 tokens: after preempt, running, waiting, all requests and the free blocks are right"""
    for num_blocks, size in ((60, 1), (24, 3), (14, 5)):

        def play(steps, num_blocks=num_blocks, size=size):
            which = sum(len(step[2]) for step in steps)
            on_a_board(student, steps, lambda each: each.preempt(which), num_blocks=num_blocks, size=size, budget=32, max_running=4)

        random_steps(lambda: board(rng, waiting=3, known=0), play, count=5)


@checks("preempt")
def test_seventy_run(student, rng):
    """one of 70 running requests is preempted: it comes before 50 waiting ones, some of which have the same text"""
    s = scheduler_of(student, 145, 3, 80, 72)
    every = [running(student, s, [i % 9] * 4, 4) for i in range(70)] + [student.Request([i % 9] * 4, 2) for i in range(50)]
    s.waiting, which = every[70:], integer(rng, 65, 68)
    student.preempt(s, every[which])
    want = [[i for i in range(70) if i != which], [which, *range(70, 120)]]
    equal(queues(s, every), want, what="wrong s.running and s.waiting, as indices into the list of all requests")


@checks("preempt")
def test_two_in_turn(student):
    """the two youngest requests are preempted in turn: the older of the two is first in the queue; shared blocks stay taken"""
    s = scheduler_of(student, 12, 4, 16, 4)
    text = list(range(9))
    a = running(student, s, text, 9)
    student.publish_blocks(a.sequence, text)
    b, c = student.Request(text, 3), running(student, s, [5] * 6, 6, output=[1])
    b.sequence = student.start_sequence(s.pool, text, 4)
    b.sequence.grow(1)
    s.running = [a, b, c]
    equal(s.pool.num_free, 6, what="wrong num_free before preempt is called")
    student.preempt(s, c)
    student.preempt(s, b)
    every = [a, b, c]
    equal(queues(s, every), [[0], [1, 2]], what="wrong s.running and s.waiting, as indices into the list a, b, c")
    equal([s.pool.num_free, a.sequence.length], [9, 9], what="wrong num_free, and length of the one that runs on")
    holders = [s.pool.holders(block) for block in a.sequence.blocks]
    equal(holders, [1, 1, 1], what="wrong numbers of holders of the blocks of the one that runs on")


@checks("preempt")
def test_the_beginning_is_known_longest(student):
    """a preempted request frees the last of its three blocks first: after one is reused, the pool still finds the first two"""
    s = scheduler_of(student, 3, 4, 16, 2)
    text = list(range(12))
    request = running(student, s, text, 12, output=[5])
    student.publish_blocks(request.sequence, text)
    student.preempt(s, request)
    s.pool.take()
    known = len(s.pool.find(chained(text, 4)))
    equal(known, 2, what="wrong number of the text's blocks that the pool still finds: `free` gives its end back first")


@checks("preempt")
def test_the_queue_has_no_clock(student):
    """a preempted request is first in the queue, also if the waiting requests arrived earlier"""
    s = scheduler_of(student, 8, 4, 16, 2)
    late = running(student, s, [1] * 5, 5, output=[5], arrival=9.0)
    early = [student.Request([2 + i] * 3, 2, arrival=float(i)) for i in range(2)]
    s.waiting = early
    student.preempt(s, late)
    equal(places(s.waiting, [late, *early]), [0, 1, 2], what="wrong s.waiting, as indices into the list late, first, second")


# ---- feed_running --------------------------------------------------------------------------------------------------


@checks("feed_running", weight=2)
def test_more_states_of_those_who_run(student, rng):
    """random states, small and large blocks and budgets: chunks, preempted requests and the free blocks are right"""
    for num_blocks, size, budget in ((22, 1, 40), (7, 3, 4), (4, 5, 11), (5, 4, 30)):

        def play(steps, num_blocks=num_blocks, size=size, budget=budget):
            on_a_board(student, steps, lambda each: each.feed(), num_blocks=num_blocks, size=size, budget=budget, max_running=4)

        random_steps(lambda: board(rng, waiting=1, known=0), play, count=6)


@checks("feed_running")
def test_seventy_are_fed(student):
    """70 decodes between two prompts, the first of 1,300 tokens with 100 cached, just enough blocks: no request is preempted"""
    s = scheduler_of(student, 112, 32, 1280, 80)
    every = [running(student, s, [7] * 1300, 100)] + [running(student, s, [i] * 2, 2, output=[9], arrival=90.0 - i) for i in range(70)]
    every.append(running(student, s, [8] * 60, 0))
    plan = student.feed_running(s)
    want = [(0, 1200), *((i, 1) for i in range(1, 71)), (71, 10)]
    equal(fed(plan, every), want, what="wrong chunks, as pairs (index in the list, number of tokens)")
    equal([s.pool.num_free, len(plan.preempted)], [0, 0], what="wrong num_free, and number of requests that gave way")


@checks("feed_running")
def test_one_text_four_requests(student):
    """four requests with one text need a block each, none is free: the two youngest are preempted, the two oldest are fed"""
    s = scheduler_of(student, 8, 2, 9, 4)
    every = [running(student, s, [7] * 4, 4, output=[3]) for _ in range(4)]
    plan = student.feed_running(s)
    equal(places(plan.preempted, every), [3, 2], what="wrong plan.preempted, as indices into the list of the four")
    equal(fed(plan, every), [(0, 1), (1, 1)], what="wrong chunks, as pairs (index in the list of the four, number of tokens)")
    equal(queues(s, every), [[0, 1], [2, 3]], what="wrong s.running and s.waiting, as indices into the list of the four")


@checks("feed_running")
def test_the_last_token_of_the_budget(student):
    """a budget of 3 feeds three decodes; a prompt that leaves one token of the budget is followed by one token of the next prompt"""
    s = scheduler_of(student, 9, 4, 3, 3)
    every = [running(student, s, [i + 1] * 5, 5, output=[9]) for i in range(3)]
    equal(
        fed(student.feed_running(s), every),
        [(0, 1), (1, 1), (2, 1)],
        what="wrong chunks, as pairs (index in the list a, b, c; number of tokens)",
    )
    equal([each.sequence.length for each in every], [6, 6, 6], what="wrong lengths of the sequences of a, b, c")
    s = scheduler_of(student, 9, 4, 4, 3)
    every = [running(student, s, [1] * 8, 5), running(student, s, [2] * 6, 0)]
    equal(fed(student.feed_running(s), every), [(0, 3), (1, 1)], what="wrong chunks, as pairs (index in the list a, b; number of tokens)")
    equal([each.sequence.length for each in every], [8, 1], what="wrong lengths of the sequences of a, b")


@checks("feed_running")
def test_two_give_way_for_one(student):
    """a chunk needs more blocks than the youngest request frees: the two youngest are preempted, the youngest first"""
    s = scheduler_of(student, 6, 4, 16, 4)
    every = [
        running(student, s, [1] * 24, 12),
        running(student, s, [2] * 4, 4, output=[9]),
        running(student, s, [3] * 3, 3, output=[9]),
    ]
    every.append(student.Request([4] * 3, 2))
    s.waiting = every[3:]
    plan = student.feed_running(s)
    equal(places(plan.preempted, every), [2, 1], what="wrong plan.preempted, as indices into the list a, b, c, late")
    equal(fed(plan, every), [(0, 12)], what="wrong chunks, as pairs (index in the list a, b, c, late; number of tokens)")
    equal(queues(s, every), [[0], [1, 2, 3]], what="wrong s.running and s.waiting, as indices into the list a, b, c, late")


@checks("feed_running")
def test_shared_blocks_stay(student):
    """the oldest needs two blocks; the youngest frees one, as its other two are shared: the two youngest are preempted"""
    s = scheduler_of(student, 7, 4, 16, 4)
    text = list(range(16))
    a = running(student, s, text, 8)
    student.publish_blocks(a.sequence, text)
    b, c = running(student, s, [30] * 7, 7, output=[9]), student.Request([*text[:8], 40, 41, 42], 3)
    c.sequence = student.start_sequence(s.pool, c.prompt, 4)
    c.sequence.grow(3)
    s.running = every = [a, b, c]
    s.pool.take()
    s.pool.take()
    plan = student.feed_running(s)
    equal(places(plan.preempted, every), [2, 1], what="wrong plan.preempted, as indices into the list a, b, c")
    equal(fed(plan, every), [(0, 8)], what="wrong chunks, as pairs (index in the list a, b, c; number of tokens)")
    equal(
        [queues(s, every), s.pool.num_free],
        [[[0], [1, 2]], 1],
        what="wrong s.running and s.waiting, as indices into the list a, b, c, or wrong num_free",
    )


@checks("feed_running")
def test_nobody_runs(student):
    """no request runs: the plan is empty, and the waiting request is not admitted"""
    s = scheduler_of(student, 6, 4, 12, 4)
    s.waiting = [student.Request([1] * 3, 2)]
    plan = student.feed_running(s)
    equal(
        [fed(plan, s.waiting), plan.preempted],
        [[], []],
        what="wrong chunks, as pairs (index in the queue, number of tokens), and preempted",
    )
    equal([len(s.waiting), len(s.running), s.pool.num_free], [1, 0, 6], what="wrong numbers of those who wait and run, and num_free")


@checks("feed_running")
def test_a_plan_stays(student):
    """a long prompt in two steps: the two plans are right, and making the second does not change the first"""
    s = scheduler_of(student, 8, 4, 5, 2)
    every = [running(student, s, [1] * 8, 0)]
    first, second = student.feed_running(s), student.feed_running(s)
    equal(fed(first, every), [(0, 5)], what="wrong chunks of the first plan, as (place, tokens)")
    equal(fed(second, every), [(0, 3)], what="wrong chunks of the second plan, as (place, tokens)")
    equal([every[0].sequence.length, s.token_budget], [8, 5], what="wrong length of the sequence, and token_budget, after two steps")


@checks("feed_running")
def test_schedules_with_little_room(student, rng):
    """random whole schedules of four requests with few blocks: all plans, the tokens in each slot and all outputs are right"""
    for _ in range(4):
        given = numbers(rng)
        given.room = integer(rng, 0, 1)
        given.max_running = 4
        given.budget = max(given.budget, 5)
        random_steps(lambda: arrivals(rng, 4), lambda steps, given=given: play_schedule(student, steps, given), count=1)


# ---- admit ---------------------------------------------------------------------------------------------------------


@checks("admit", weight=2)
def test_more_states_of_those_who_wait(student, rng):
    """random states, small and large blocks, texts partly known to a small pool: chunks, running, waiting, free blocks are right"""
    for num_blocks, size, budget, max_running in ((30, 1, 60, 8), (9, 3, 14, 2), (6, 5, 30, 5), (7, 4, 16, 3)):

        def play(steps, num_blocks=num_blocks, size=size, budget=budget, max_running=max_running):
            given = {"num_blocks": num_blocks, "size": size, "budget": budget, "max_running": max_running}
            on_a_board(student, steps, lambda each: each.admit(), chunk=True, **given)

        random_steps(lambda: board(rng, waiting=3, known=3), play, count=5)


@checks("admit")
def test_eighty_wait(student):
    """a prompt of 1,100 tokens, then 80 of 3, budget 1,312: the 71st of the 80 is fed 2 tokens; a prompt as large as the pool fits"""
    s = scheduler_of(student, 114, 32, 1312, 100)
    s.waiting = every = [student.Request([50] * 1100, 2)] + [student.Request([i] * 3, 2) for i in range(80)]
    plan = student.Plan()
    student.admit(s, plan)
    want = [(0, 1100), *((i, 3) for i in range(1, 71)), (71, 2)]
    equal(fed(plan, every), want, what="wrong chunks, as pairs (index in the queue, number of tokens)")
    counts = [len(s.running), len(s.waiting), s.pool.num_free]
    equal(counts, [72, 9, 8], what="wrong numbers of running and waiting requests, and num_free")
    s = scheduler_of(student, 150, 8, 1_200, 3)
    s.waiting = [one] = [student.Request(list(range(1_200)), 1)]
    plan = student.Plan()
    student.admit(s, plan)
    equal(fed(plan, [one]), [(0, 1_200)], what="wrong chunks where a prompt needs every block of the pool")


@checks("admit")
def test_output_is_part_of_the_text(student):
    """a preempted request is admitted: its prompt and output are fed, except the blocks that the pool knows"""
    s = scheduler_of(student, 12, 4, 32, 4)
    text = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    request = student.Request(text[:3], 20, output=text[3:])
    gone = student.start_sequence(s.pool, text, 4)
    gone.grow(6)
    student.publish_blocks(gone, text)
    gone.free()
    s.waiting = [request]
    plan = student.Plan()
    student.admit(s, plan)
    equal(fed(plan, [request]), [(0, 6)], what="wrong chunks, as pairs (index in the queue, number of tokens): 4 of 10 are known")
    equal([request.sequence.length, request.remaining], [10, 0], what="wrong length of the sequence, and number of remaining tokens")
    equal([request.prompt, request.output], [text[:3], text[3:]], what="prompt or output has changed")


@checks("admit")
def test_the_last_block_and_the_last_place(student):
    """the last free block, the last place and the last token of the budget are enough to admit a request"""
    s = scheduler_of(student, 3, 4, 9, 2)
    s.waiting = every = [student.Request([i] * 4, 1) for i in range(3)]
    plan = student.Plan()
    student.admit(s, plan)
    equal(fed(plan, every), [(0, 4), (1, 4)], what="wrong chunks with two places, as pairs (index in the queue, number of tokens)")
    s.max_running = 3
    student.admit(s, plan)
    equal(
        fed(plan, every), [(0, 4), (1, 4), (2, 1)], what="wrong chunks with a third place, as pairs (index in the queue, number of tokens)"
    )
    equal([s.pool.num_free, len(s.waiting)], [0, 0], what="wrong num_free, and length of the queue")


@checks("admit")
def test_the_queue_is_the_order(student):
    """requests are admitted in the order of the queue, also if the first one arrived last"""
    s = scheduler_of(student, 12, 4, 8, 4)
    s.waiting = every = [student.Request([i] * (5 - i), 2, arrival=9.0 - i) for i in range(3)]
    plan = student.Plan()
    student.admit(s, plan)
    equal(fed(plan, every), [(0, 5), (1, 3)], what="wrong chunks, as pairs (index in the queue, number of tokens)")
    equal(queues(s, every), [[0, 1], [2]], what="wrong s.running and s.waiting, as indices into the queue")
    equal([each.arrival for each in every], [9.0, 8.0, 7.0], what="the arrivals of the requests have changed")


@checks("admit")
def test_a_text_known_to_its_end(student):
    """the pool knows all 8 tokens of a text: the last block is fed again, to give the next token"""
    s = scheduler_of(student, 6, 4, 32, 4)
    text = list(range(8))
    gone = student.start_sequence(s.pool, text, 4)
    gone.grow(8)
    student.publish_blocks(gone, text)
    gone.free()
    s.waiting = [request] = [student.Request(text, 2)]
    plan = student.Plan()
    student.admit(s, plan)
    equal(fed(plan, [request]), [(0, 4)], what="wrong chunks, as pairs (index in the queue, number of tokens)")
    equal([request.sequence.length, request.remaining], [8, 0], what="wrong length of the sequence, and number of remaining tokens")


@checks("admit")
def test_equal_texts_are_two_requests(student):
    """seven requests have the same prompt and six may run: six are admitted, and the last one waits"""
    s = scheduler_of(student, 12, 4, 32, 6)
    s.waiting = every = [student.Request([4, 5, 6], 2) for _ in range(7)]
    plan = student.Plan()
    student.admit(s, plan)
    equal(fed(plan, every), [(i, 3) for i in range(6)], what="wrong chunks, as pairs (index in the queue, number of tokens)")
    equal(queues(s, every), [list(range(6)), [6]], what="wrong s.running and s.waiting, as indices into the queue")


@checks("admit")
def test_a_refusal_keeps_the_beginning(student):
    """a request without room gives its known blocks back, the last first: after one is reused, the pool finds the first two"""
    s = scheduler_of(student, 5, 4, 32, 4)
    text = list(range(14))
    gone = student.start_sequence(s.pool, text, 4)
    gone.grow(14)
    student.publish_blocks(gone, text)
    gone.free()
    running(student, s, [30] * 6, 6, output=[9])
    s.waiting = [request] = [student.Request(text, 2)]
    plan = student.Plan()
    student.admit(s, plan)
    equal(fed(plan, [request]), [], what="there is no room, and it was admitted; chunks as pairs (index in the queue, number of tokens)")
    s.pool.take()
    known = len(s.pool.find(chained(text, 4)))
    equal(known, 2, what="wrong number of the text's blocks that the pool still finds: `free` gives its end back first")


@checks("admit")
def test_schedules_of_many(student, rng):
    """random whole schedules of eight requests with a common beginning: plans, the tokens in each slot and outputs are right"""
    for _ in range(3):
        given = numbers(rng)
        random_steps(lambda: arrivals(rng, 8), lambda steps, given=given: play_schedule(student, steps, given), count=1)


# ---- update --------------------------------------------------------------------------------------------------------


@checks("update", weight=2)
def test_more_ended_steps(student, rng):
    """random states and plans, blocks of 1, 3 and 5 tokens: outputs, ended requests, running, waiting and the pool are right"""
    for num_blocks, size in ((60, 1), (26, 3), (16, 5)):

        def play(steps, num_blocks=num_blocks, size=size):
            tokens = [[7, 3], [2, 7, 7], [5]][len(steps) % 3]
            on_a_board(
                student, steps, lambda each: each.update(tokens), chunk=True, num_blocks=num_blocks, size=size, budget=50, max_running=4
            )

        random_steps(lambda: board(rng, waiting=1, known=0), play, count=5)


@checks("update")
def test_an_eos_that_is_not_due(student):
    """an EOS that the model gives within a prompt is dropped; without an EOS no token ends a request; EOS 0 ends its request"""
    s = scheduler_of(student, 20, 4, 32, 4)
    every = [
        running(student, s, [1] * 9, 5, eos_token_id=7),
        running(student, s, [2] * 5, 5),
        running(student, s, [3] * 5, 5, eos_token_id=0),
    ]
    plan = student.Plan([(every[0], 5), (every[1], 5), (every[2], 5)])
    ended = student.update(s, plan, [7, 0, 0])
    equal(places(ended, every), [2], what="wrong list of ended requests, as indices into the plan")
    equal([each.output for each in every], [[], [0], [0]], what="wrong outputs")
    equal(places(s.running, every), [0, 1], what="wrong s.running, as indices into the plan")
    equal(len(s.pool.find(chained([3] * 5, 4))), 1, what="wrong number of blocks that the pool finds of the text that has ended")


@checks("update")
def test_seventy_were_fed(student):
    """in one step, every third of 70 requests ends with its EOS, and the 1,050 tokens of another request are published"""
    s = scheduler_of(student, 180, 10, 1_999, 80)
    every = [running(student, s, list(range(100, 1_150)), 1_050)] + [running(student, s, [i], 1, eos_token_id=7, new=9) for i in range(70)]
    said = [3] + [7 if i % 3 == 0 else 8 for i in range(70)]
    ended = student.update(s, student.Plan([(every[0], 1_050), *((each, 1) for each in every[1:])]), said)
    equal(places(ended, every), list(range(1, 71, 3)), what="wrong list of ended requests, as indices into the plan")
    equal([each.output for each in every], [[token] for token in said], what="wrong outputs")
    found = len(s.pool.find(chained(list(range(100, 1_150)), 10)))
    equal([found, s.pool.num_free], [105, 29], what="wrong number of the long text's blocks that the pool finds, or wrong num_free")


@checks("update")
def test_three_end_at_once(student):
    """three of four running requests end in one step: requests with the same text as an ended one keep running or waiting"""
    s = scheduler_of(student, 20, 4, 32, 4)
    every = [running(student, s, [first] * 5, 5, new=new) for first, new in ((0, 1), (1, 1), (2, 1), (1, 3))]
    every.append(student.Request([1] * 5, 1))
    s.waiting = every[4:]
    ended = student.update(s, student.Plan([(each, 5) for each in every[3::-1]]), [7, 7, 7, 7])
    equal(places(ended, every), [2, 1, 0], what="wrong list of ended requests, the plan's last one 0")
    equal(queues(s, every), [[3], [4]], what="wrong s.running and s.waiting, the plan's last one 0")
    gone = all(each.sequence is None for each in every[:3])
    that(gone, "a request that has ended still has a sequence", expected="None", got="a sequence")
    equal(s.pool.num_free, 18, what="wrong num_free")


@checks("update")
def test_the_order_of_the_plan(student):
    """ended requests are in the plan's order, not that of `running`; an EOS in the prompt ends nothing; arguments are unchanged"""
    s, eos = scheduler_of(student, 20, 4, 32, 4), 50_256
    every = [
        running(student, s, [eos, 1, 2], 3, new=5, eos_token_id=eos, arrival=3.0),
        running(student, s, [3] * 3, 3, new=5, eos_token_id=eos, arrival=2.0),
        running(student, s, [4] * 3, 5, new=9, output=[5, 5], arrival=1.0),
        running(student, s, [6] * 3, 3, new=1, arrival=4.0),
    ]
    plan = student.Plan([(every[3], 3), (every[2], 1), (every[1], 3), (every[0], 3)])
    ended = student.update(s, plan, [6, 5, eos, 9], _unchanged=True)
    equal([each.output for each in every], [[9], [eos], [5, 5, 5], [6]], what="wrong outputs, the oldest's first")
    equal(places(ended, every), [3, 1], what="wrong list of ended requests, in the plan's order, as indices into s.running")
    equal(places(s.running, every), [0, 2], what="wrong s.running, as indices into the s.running before")
    equal([each.arrival for each in every], [3.0, 2.0, 1.0, 4.0], what="the arrivals of the requests have changed")


@checks("update")
def test_all_blocks_are_full(student):
    """the prompt and all but the last token of the answer fill every block: the request ends with the last token, not before"""
    s = scheduler_of(student, 2, 4, 8, 1)
    request = running(student, s, [1] * 5, 7, new=4, output=[2, 3])
    ended = student.update(s, student.Plan([(request, 1)]), [4])
    equal([len(ended), request.output], [0, [2, 3, 4]], what="wrong number of requests that ended, and output, with one slot free")
    request.sequence.grow(1)
    ended = student.update(s, student.Plan([(request, 1)]), [5])
    equal([len(ended), request.output], [1, [2, 3, 4, 5]], what="wrong number of requests that ended, and output, with no slot free")
    equal(s.pool.num_free, 2, what="wrong num_free in the end")


@checks("update")
def test_a_chunk_that_ends_in_the_answer(student):
    """recomputing after preemption: a chunk that ends within the output gives no token, the chunk that ends the text gives one"""
    s = scheduler_of(student, 20, 4, 32, 4)
    request = running(student, s, [1, 2, 3], 6, new=9, output=[4, 5, 6, 7, 8])
    equal(student.update(s, student.Plan([(request, 6)]), [9]), [], what="wrong result: nobody has ended")
    equal(request.output, [4, 5, 6, 7, 8], what="wrong output after a chunk that ends before the text does")
    request.sequence.grow(2)
    equal(student.update(s, student.Plan([(request, 2)]), [9]), [], what="wrong result: nobody has ended")
    equal(request.output, [4, 5, 6, 7, 8, 9], what="wrong output after the chunk that ends the text")
    equal(len(s.pool.find(chained(list(range(1, 9)), 4))), 2, what="wrong number of blocks that the pool can find")


# ---- flatten_chunks ------------------------------------------------------------------------------------------------


@checks("flatten_chunks", weight=2)
def test_random_chunks(student, rng):
    """random chunks anywhere in prompts and outputs: ids, positions and bounds are right"""
    for _ in range(4):
        s = scheduler_of(student, 200, integer(rng, 1, 5), 200, 8)
        chunks, ids, positions, bounds = [], [], [], [0]
        for _ in range(integer(rng, 1, 5)):
            text = torch.randint(500, (integer(rng, 1, 20),), generator=rng).tolist()
            cut, end = integer(rng, 1, len(text)), integer(rng, 1, len(text))
            n = integer(rng, 1, end)
            chunks.append((running(student, s, text[:cut], end, output=text[cut:]), n))
            ids += text[end - n : end]
            positions += range(end - n, end)
            bounds.append(len(ids))
        look_at_flat(student.flatten_chunks(chunks), ids, positions, bounds)


@checks("flatten_chunks")
def test_seventy_chunks(student):
    """a chunk of 1,100 within 2,000 tokens, then over 70 chunks of one token, some equal: right result, the list is unchanged"""
    s = scheduler_of(student, 200, 20, 1200, 80)
    text, starts = [3 * t % 500 for t in range(2000)], [i // 3 for i in range(70)]
    chunks = [(running(student, s, text, 1500), 1100)] + [(running(student, s, [i] * 3, 3, output=[i + 100]), 1) for i in starts]
    chunks += [(running(student, s, [21] * 3, 4, output=[200 + i, 9]), 1) for i in range(3)]  # one prompt, three answers
    ids, positions = [*text[400:1500], *starts, 200, 201, 202], [*range(400, 1500), *[2] * 70, *[3] * 3]
    look_at_flat(student.flatten_chunks(chunks, _unchanged=True), ids, positions, [0, *range(1100, 1174)])


@checks("flatten_chunks")
def test_long_texts_and_large_vocabularies(student):
    """token ids and positions that 16 bits or a float32 cannot represent are exact"""
    s = scheduler_of(student, 80, 1024, 9, 4)
    text = [49_000 + t % 150 for t in range(70_000)]
    every = [running(student, s, text, 69_999), running(student, s, text, 2_052), running(student, s, [16_777_219], 1)]
    ids, positions = [*text[69_997:69_999], *text[2_049:2_052], 16_777_219], [69_997, 69_998, 2_049, 2_050, 2_051, 0]
    look_at_flat(student.flatten_chunks([(every[0], 2), (every[1], 3), (every[2], 1)]), ids, positions, [0, 2, 5, 6])


# ---- forward_ragged ------------------------------------------------------------------------------------------------


@checks("forward_ragged", weight=2)
def test_random_models_and_chunks(student, rng):
    """random models, block sizes and chunks, in any order: each chunk's logits are the model's for its text alone"""
    written(lambda *_: student.forward_ragged(None, None, None, None))
    for shape in SHAPES:
        model, kit = small(student, rng, vocab_size=29, **shape)
        size = integer(rng, 1, 5)
        kv = filled(student, 60, size, config=kit.config)
        texts = Texts(student, model, kit, [random_ids(rng, 1, 16, 29) for _ in range(4)], kv, 60, size)
        for _ in range(3):
            order = torch.randperm(4, generator=rng).tolist()[: integer(rng, 1, 4)]
            got, want = texts.step([(which, integer(rng, 1, 5)) for which in order])
            close(got, want, atol=1e-3, what=f"wrong logits for {shape}, blocks of {size}")


@checks("forward_ragged")
def test_seventy_chunks_and_a_long_text(student, rng):
    """70 chunks beside a text fed 380 and then 40 tokens, and a text in blocks with high numbers: the logits are right"""
    written(lambda *_: student.forward_ragged(None, None, None, None))
    model, kit = small(student, rng, vocab_size=29, num_hidden_layers=1)
    ids = [random_ids(rng, 1, n, 29) for n in (421, *[3] * 70)]
    texts = Texts(student, model, kit, ids, filled(student, 220, 3, config=kit.config), 220, 3)
    for pieces in ([(0, 380), *((i, 2) for i in range(1, 71))], [*((i, 1) for i in range(1, 70)), (0, 40)], [(70, 1), (0, 1)]):
        got, want = texts.step(pieces)
        close(got, want, atol=1e-3, what=f"wrong logits for {len(pieces)} chunks")
    in_high_blocks(student, model, kit, random_ids(rng, 1, 7, 29), [9_100, integer(rng, 8_200, 9_000)])


@checks("forward_ragged")
def test_the_beginning_of_a_long_text(student, rng):
    """a text of 2,600 tokens in chunks of 500, 2,090 and 10: the logits after each chunk are right"""
    written(lambda *_: student.forward_ragged(None, None, None, None))
    in_a_long_text(student, rng, [500, 2_090, 10])


@checks("forward_ragged")
def test_precision_of_the_model(student):
    """a model in bfloat16: the logits are bfloat16, and close to those of the float32 model"""
    written(lambda *_: student.forward_ragged(None, None, None, None))
    ids = [torch.randint(3, 1000, (1, n), generator=torch.Generator().manual_seed(n)) for n in (9, 6)]
    kv = filled(student, 8, 4, dtype=torch.bfloat16)
    texts = Texts(student, student.model("tiny", dtype=torch.bfloat16), whole(torch.float32), ids, kv, 8, 4)
    for pieces in ([(0, 8), (1, 5)], [(1, 1), (0, 1)]):
        got, want = texts.step(pieces)
        close(got, want, atol=0.5, rtol=0.05, dtype=torch.bfloat16, what="wrong logits of a model in bfloat16")


@checks("forward_ragged")
def test_a_beginning_that_is_shared(student):
    """two texts share the blocks of their beginning: the logits of both texts are right, and no shared block is written"""
    written(lambda *_: student.forward_ragged(None, None, None, None))
    model, size = student.model("tiny", dtype=torch.float64), 4
    common = torch.randint(3, 1000, (1, 8), generator=torch.Generator().manual_seed(5))
    rests = torch.randint(3, 1000, (2, 1, 5), generator=torch.Generator().manual_seed(6))
    kv = filled(student, 20, size)
    texts = Texts(student, model, whole(), [torch.cat((common, rest), dim=1) for rest in rests], kv, 20, size)
    texts.step([(0, 8)])
    texts.sequences[1], texts.lengths[1] = texts.sequences[0].fork(), 8
    slots = texts.sequences[0].slots()
    before = kv.keys[:, slots]
    for pieces in ([(1, 2), (0, 4)], [(0, 1), (1, 3)]):
        got, want = texts.step(pieces)
        close(got, want, atol=1e-3, what="wrong logits after a shared beginning")
    equal(kv.keys[:, slots], before, what="keys in the shared blocks have changed")


@checks("forward_ragged")
def test_a_long_text_beside_a_short_one(student):
    """a text of 150 tokens beside a short one, then another text in the short one's freed sequence: the logits are right"""
    written(lambda *_: student.forward_ragged(None, None, None, None))
    ids = [torch.randint(3, 1000, (1, n), generator=torch.Generator().manual_seed(n)) for n in (150, 6)]
    texts = Texts(student, student.model("tiny", dtype=torch.float64), whole(), ids, filled(student, 12, 16), 12, 16)
    for pieces in ([(0, 140)], [(1, 3), (0, 1)], [(0, 9), (1, 1)]):
        got, want = texts.step(pieces)
        close(got, want, atol=1e-3, what=f"wrong logits for chunks of {[n for _, n in pieces]} tokens")
    texts.again(1, torch.randint(3, 1000, (1, 4), generator=torch.Generator().manual_seed(44)))
    got, want = texts.step([(1, 4)])
    close(got, want, atol=1e-3, what="wrong logits of another text in a sequence that was freed, and has its old length again")


@checks("forward_ragged", weight=2)
def test_work_of_ragged_chunks(student):
    """work: a long chunk between two decodes: no padding, the weights are read once, the head computes one row for each chunk"""
    written(lambda *_: student.forward_ragged(None, None, None, None))
    fast, kit = 100 * 1024, whole(torch.float32)
    ids = [torch.randint(3, 1000, (1, n), generator=torch.Generator().manual_seed(n)) for n in (33, 28, 9)]
    texts = Texts(student, student.model("tiny"), kit, ids, filled(student, 24, 8, dtype=torch.float32), 24, 8)
    texts.step([(0, 32), (2, 8)])
    with student.counting(fast_bytes=fast) as work:
        got, want = texts.step([(0, 1), (1, 28), (2, 1)])
    close(got, want, atol=1e-2, rtol=1e-3, what="wrong logits")
    equal(work.positions, 30, what="wrong number of positions for chunks of 1, 28 and 1 tokens")
    config, weights = kit.config, kit.weights_only().weights
    least = sum(fewest_flops(config, [n]) for n in (1, 28, 1))
    between(work.flops, least, 1.05 * most_flops(config, [(1, 33), (28, 28), (1, 9)]), "FLOPs")
    matrices = [each for layer in weights.layers for each in vars(layer).values()] + [weights.lm_head]
    cached = 70 * 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * 4
    slow = sum(each.nbytes for each in matrices if each.nbytes > fast) + cached
    between(work.slow_bytes, slow, 1.5 * slow, "bytes read from and written to slow memory")


# ---- engine_step ---------------------------------------------------------------------------------------------------


@checks("engine_step")
def test_a_shared_beginning_served(student):
    """the ladder: prompts that begin alike, two running at a time, with an EOS, give the tokens of the loop without a cache"""
    written(lambda *_: student.engine_step(None, None, None))
    ids = [tiny_ids("KING RICHARD:\nNow is the winter of our" + rest) for rest in (" discontent", " war", "", " discontent")]
    alone = [unrolled(whole(), each, 5, 256)[0].tolist() for each in ids]
    eos = alone[1][2]
    prompts = [each[0].tolist() for each in ids]
    requests, ended = serve(student, prompts, 5, num_blocks=24, size=4, budget=16, max_running=2, eos=eos)
    for request, want in zip(requests, alone, strict=True):
        equal(request.output, want[: want.index(eos) + 1] if eos in want else want, what="wrong output")
    equal(sorted(places(ended, requests)), [0, 1, 2, 3], what="wrong requests given as ended, as indices into the queue")


@checks("engine_step")
def test_thirty_are_served(student, rng):
    """work: 45 requests share one pass; 30 requests, 25 at a time, get the right tokens; the scheduler's own `schedule` is used"""
    written(lambda *_: student.engine_step(None, None, None))
    one_pass(student, rng, 45)
    model, kit = small(student, rng, vocab_size=29, num_hidden_layers=1)
    prompts = [random_ids(rng, 1, integer(rng, 1, 4), 29)[0].tolist() for _ in range(30)]
    s, kv = scheduler_of(student, 60, 4, 60, 25), filled(student, 60, 4, config=kit.config)
    requests = [student.Request(prompt, 2) for prompt in prompts]
    for request in requests:
        s.add(request)
    ended = [each for _ in range(6) for each in student.engine_step(model, s, kv)]
    want = [unrolled(kit, torch.tensor([prompt]), 2, 256)[0].tolist() for prompt in prompts]
    equal([request.output for request in requests], want, what="wrong outputs of 30 requests")
    equal(sorted(places(ended, requests)), list(range(30)), what="wrong requests given as ended, as indices into the queue")
    s.waiting = [request] = [student.Request([1, 2, 3, 4, 5, 6, 7], 2)]
    stricter(student, s, request, 3)
    equal(student.engine_step(model, s, kv), [], what="wrong result: 3 of 7 tokens were to be fed, and nobody has ended")
    fed_of = None if request.sequence is None else request.sequence.length
    equal([fed_of, request.output], [3, []], what="wrong length of the sequence or wrong output: s.schedule() feeds 3 of 7 tokens")


@checks("engine_step")
def test_work_of_a_run(student):
    """work: over a whole run each token is fed exactly once, except the last token of each answer, which is never fed"""
    written(lambda *_: student.engine_step(None, None, None))
    prompts = [tiny_ids(text)[0].tolist() for text in ("ROMEO:\nBut soft", "O", "JULIET:\n")]
    model = student.model("tiny", dtype=torch.float64)
    with student.counting() as work:
        requests, _ = serve(student, prompts, 3, num_blocks=30, size=4, budget=5, max_running=3, model=model)
    for request, prompt in zip(requests, prompts, strict=True):
        equal(request.output, unrolled(whole(), torch.tensor([prompt]), 3, 256)[0].tolist(), what="wrong output")
    equal(work.positions, sum(len(prompt) + 2 for prompt in prompts), what="wrong number of positions over the run")


@checks("engine_step")
def test_one_pass_for_all(student):
    """work: six newest tokens, alone and then beside a prompt: each step reads the weights once, not once for each request"""
    written(lambda *_: student.engine_step(None, None, None))
    kit, model = whole(torch.float32), student.model("tiny")
    s, kv = scheduler_of(student, 20, 8, 20, 7), filled(student, 20, 8, dtype=torch.float32)
    requests = [student.Request([10 + i, 20 + i, 30 + i], 4) for i in range(6)]
    requests.append(student.Request(list(range(100, 109)), 4))
    for request in requests[:6]:
        s.add(request)
    student.engine_step(model, s, kv)
    weights = kit.weights_only().weights
    matrices = [each for layer in weights.layers for each in vars(layer).values()] + [weights.lm_head]
    fast = 100 * 1024
    least = sum(each.nbytes for each in matrices if each.nbytes > fast)
    for counts in ([2] * 6 + [0], [3] * 6 + [1]):
        with student.counting(fast_bytes=fast) as work:
            equal(student.engine_step(model, s, kv), [], what="wrong result: nobody has ended")
        equal([len(each.output) for each in requests], counts, what="wrong numbers of tokens that were said")
        between(work.slow_bytes, least, 1.5 * least, "bytes read from and written to slow memory")
        if not counts[6]:
            s.add(requests[6])


# ---- step_seconds --------------------------------------------------------------------------------------------------


@checks("step_seconds", weight=2)
def test_random_steps(student, rng):
    """random chunks and rates, limited by reading or by computing: right times; no chunks: the time to read the weights"""
    for most in (6,) * 10 + (90,) * 2:
        count = integer(rng, 1, most) if most == 6 else most
        chunks = [(n, n + integer(rng, 0, 3000)) for n in (one_of(rng, (1, 1, integer(rng, 2, 900))) for _ in range(count))]
        chunks += chunks[: integer(rng, 0, 2)]  # two requests may stand alike
        weight, token, kv = (integer(rng, 1, 99) * unit for unit in (1e-4, 1e-6, 1e-8))
        want = max(weight + kv * sum(m for _, m in chunks), token * sum(n for n, _ in chunks))
        got = student.step_seconds(chunks, weight_seconds=weight, token_seconds=token, kv_seconds=kv, _unchanged=True)
        close(got, want, atol=1e-12, rtol=1e-9, what=f"wrong seconds for {chunks}")
    close(
        student.step_seconds([], weight_seconds=0.25, token_seconds=1.0, kv_seconds=1.0),
        0.25,
        what="wrong seconds for a step without chunks",
    )


# ---- simulate ------------------------------------------------------------------------------------------------------


@checks("simulate", weight=2)
def test_random_runs_on_a_clock(student, rng):
    """random requests and arrivals, with idle times, few blocks and an EOS: traces and the chunks given to `seconds` are right"""
    done = 0
    while done < 5:
        given, count = numbers(rng), integer(rng, 2, 6)
        drawn = arrivals(rng, count)
        times_of_arrival = [integer(rng, 0, 12) * 0.75 + 30 * integer(rng, 0, 1) for _ in range(count)]
        most = max(-(-(len(prompt) + new - 1) // given.size) for _, prompt, new, *_ in drawn) + given.room
        answers = [one_of(rng, (3, 7)) for _ in drawn]

        def price(chunks):
            return 0.25 + sum(n for n, _ in chunks) / 8 + sum(m for _, m in chunks) / 64

        def said(label, answers=answers):
            return answers[LABELS.index(label)]

        def run(open_, drawn=drawn, given=given, most=most, times_of_arrival=times_of_arrival):
            rows = [Row(label, prompt, new, eos, at) for (label, prompt, new, eos, *_), at in zip(drawn, times_of_arrival, strict=True)]
            return clocked(rows, Desk(most, given.size, given.budget, given.max_running, open_, open_), price, said)

        times, asked = run(False)
        if run(True) != (times, asked):
            continue
        done += 1
        requests = [
            student.Request(prompt, new, eos_token_id=eos, arrival=at)
            for (_, prompt, new, eos, *_), at in zip(drawn, times_of_arrival, strict=True)
        ]
        seen = []

        def seconds(chunks, seen=seen):
            seen.append([tuple(each) for each in chunks])
            return price(seen[-1])

        def token(request, requests=requests):
            return said(LABELS[place(request, requests)])

        s = scheduler_of(student, most, given.size, given.budget, given.max_running)
        traces = student.simulate(requests, s, seconds, token)
        equal(seen, asked, what="wrong chunks given to `seconds`, as pairs (tokens fed, tokens cached after the step)")
        look_at_traces(traces, times_of_arrival, list(times.values()))
        equal(s.pool.num_free, most, what="wrong num_free in the end")


@checks("simulate")
def test_fifty_and_a_long_answer(student, rng):
    """50 requests in random order, one for 1,040 tokens: every trace is right, and the caller's list is unchanged"""
    due = [4.0] * 30 + [float(5 + i) for i in range(19)] + [0.0]
    order = torch.randperm(50, generator=rng).tolist()
    requests = [student.Request([i % 9], 1_040 if i == 49 else 1, arrival=due[i]) for i in order]
    traces, left = student.simulate(requests, scheduler_of(student, 60, 1_060, 64, 64), lambda chunks: 1.0, _arguments=True)
    times = [[float(n) for n in range(1, 1_041)] if i == 49 else [due[i] + 1] for i in order]
    look_at_traces(traces, [due[i] for i in order], times)
    equal(places(left[0], requests), list(range(50)), what="the caller's list has another order, or other requests, afterwards")
    equal(first_asked(student, 4), [(4, 4)], what="wrong first chunks (fed, cached) for seconds: s.schedule() feeds 4 of 5 tokens")


@checks("simulate")
def test_nobody_asks(student):
    """no requests: no traces; a first request that arrives late: the clock jumps to its arrival"""
    s = scheduler_of(student, 8, 4, 8, 2)
    equal(student.simulate([], s, lambda chunks: 1.0), [], what="wrong traces where there are no requests")
    [trace] = student.simulate([student.Request([1, 2], 2, arrival=12.5)], s, lambda chunks: 0.5)
    close(torch.tensor(trace.token_times), torch.tensor([13.0, 13.5]), atol=1e-6, what="wrong token times")
    equal([len(s.waiting), len(s.running)], [0, 0], what="wrong numbers of those who wait and run in the end")


@checks("simulate")
def test_one_at_a_time(student):
    """max_running 1, two arrivals together, one during a step and one after idle time: the token times are right"""
    prompts, due = ([1] * 5, [2] * 2, [2] * 2, [3]), [0.0, 0.0, 1.75, 50.0]
    requests = [student.Request(prompt, 1, arrival=arrival) for prompt, arrival in zip(prompts, due, strict=True)]
    traces = student.simulate(requests, scheduler_of(student, 8, 4, 8, 1), lambda chunks: 1.0)
    look_at_traces(traces, due, [[1.0], [2.0], [3.0], [51.0]])


@checks("simulate")
def test_before_the_clock(student):
    """a request with a negative arrival is fed from time 0 on, and its trace keeps the arrival"""
    requests = [student.Request([1, 2], 2, arrival=arrival) for arrival in (0.5, -1.5)]
    traces = student.simulate(requests, scheduler_of(student, 8, 4, 8, 2), lambda chunks: 1.0)
    look_at_traces(traces, [0.5, -1.5], [[2.0, 3.0], [1.0, 2.0]])


@checks("simulate")
def test_what_is_said_may_change(student):
    """`token` returns 0, 1, 2, ... for each request, and 3 is the first request's EOS: token times and outputs are right"""
    requests = [student.Request([1] * 3, 9, eos_token_id=3), student.Request([2] * 2, 3, arrival=0.5)]
    said = [0, 0]

    def token(request):
        which = place(request, requests)
        said[which] += 1
        return said[which] - 1

    traces = student.simulate(requests, scheduler_of(student, 12, 4, 4, 2), lambda chunks: 1.0, token)
    look_at_traces(traces, [0.0, 0.5], [[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0]])
    equal([each.output for each in requests], [[0, 1, 2, 3], [0, 1, 2]], what="wrong outputs")


@checks("simulate")
def test_computed_again_in_three_pieces(student):
    """a preempted request is computed again in three chunks: the first two give no token and add no token time"""
    requests = [student.Request([1] * 5, 8), student.Request([2] * 4, 6)]
    traces = student.simulate(requests, scheduler_of(student, 2, 10, 3, 2), lambda chunks: 1.0)
    # Until 9 each has one block of 10; the first ends with step 9. From 9 to 12 the other one's prompt and four tokens, 3 a step.
    look_at_traces(traces, [0.0, 0.0], [[float(n) for n in range(2, 10)], [4.0, 5.0, 6.0, 7.0, 12.0, 13.0]])


@checks("simulate")
def test_far_on_the_clock(student):
    """token times are exact with very short steps, and after 36 million seconds"""
    begin, step = 36_000_000.0, 0.75
    traces = student.simulate([student.Request([4] * 3, 2, arrival=begin)], scheduler_of(student, 4, 4, 2, 1), lambda chunks: step)
    look_at_traces(traces, [begin], [[begin + 2 * step, begin + 3 * step]])
    tick = 2.0**-14
    traces = student.simulate([student.Request([4] * 3, 2, arrival=tick)], scheduler_of(student, 4, 4, 3, 1), lambda chunks: tick)
    look_at_traces(traces, [tick], [[2 * tick, 3 * tick]])


@checks("simulate")
def test_just_too_late(student):
    """a request arrives a millionth of a second after a step has begun: it is added when the next step begins"""
    requests = [student.Request([1], 3), student.Request([2], 1, arrival=1 + 2**-20)]
    traces = student.simulate(requests, scheduler_of(student, 8, 4, 8, 2), lambda chunks: 1.0)
    look_at_traces(traces, [0.0, 1 + 2**-20], [[1.0, 2.0, 3.0], [3.0]])
