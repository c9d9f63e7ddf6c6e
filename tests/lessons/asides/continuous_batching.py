# === repaired_feed
# Repairs of the colleague's function in "Find the bug". How they are judged: tests/lessons/test_asides.py.


# %% right_youngest_and_stop
# RIGHT: the youngest gives way, and if it was the one who asks, the step ends
def repaired_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [scheduler.running[-1]]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
            if row not in scheduler.running:
                break
        if row not in scheduler.running:
            break
        row.sequence.grow(count)
        plan.chunks.append((row, count))
    return plan


# %% right_next_one, of right_youngest_and_stop
# RIGHT: the same, and on to the next, of whom there is none
#           if row not in scheduler.running:
# -             break
# +             continue


# %% right_while_it_runs, of right_youngest_and_stop
# RIGHT: asked as long as it runs
# -         while row.sequence.blocks_for(count) > scheduler.pool.num_free:
# +         while row in scheduler.running and row.sequence.blocks_for(count) > scheduler.pool.num_free:
# ...
# -             if row not in scheduler.running:
# -                 break
# -         if row not in scheduler.running:
# -             break
# -         row.sequence.grow(count)
# -         plan.chunks.append((row, count))
# +         if row in scheduler.running:
# +             row.sequence.grow(count)
# +             plan.chunks.append((row, count))


# %% right_own_function
# RIGHT: the exercise's
def repaired_feed(scheduler):
    return feed_running(scheduler)


# %% wrong_as_released, of right_youngest_and_stop
# WRONG: the cell's own
# -             others = [scheduler.running[-1]]
# +             others = [other for other in scheduler.running if other is not row]
# ...
# -             if row not in scheduler.running:
# -                 break
# -         if row not in scheduler.running:
# -             break


# %% wrong_who_asks_is_forgotten, of right_youngest_and_stop
# WRONG: the youngest gives way, and is asked for its sequence afterwards
# -             if row not in scheduler.running:
# -                 break
# -         if row not in scheduler.running:
# -             break


# %% wrong_fed_without_blocks, of right_youngest_and_stop
# WRONG: the youngest gives way, and is fed afterwards
# -         if row not in scheduler.running:
# -             break


# %% wrong_chunk_taken_out, of right_youngest_and_stop
# WRONG: an older one still gives way, and loses its chunk
# -             others = [scheduler.running[-1]]
# +             others = [other for other in scheduler.running if other is not row]
# ...
# -             if row not in scheduler.running:
# -                 break
# -         if row not in scheduler.running:
# -             break
# ...
#           plan.chunks.append((row, count))
# +     plan.chunks = [(row, n) for row, n in plan.chunks if row in scheduler.running]


# %% wrong_oldest, of right_youngest_and_stop
# WRONG: the oldest of the others gives way
# -             others = [scheduler.running[-1]]
# -             preempt(scheduler, others[-1])
# -             plan.preempted.append(others[-1])
# -             if row not in scheduler.running:
# -                 break
# -         if row not in scheduler.running:
# -             break
# +             others = [other for other in scheduler.running if other is not row]
# +             preempt(scheduler, others[0])
# +             plan.preempted.append(others[0])


# %% wrong_never_itself, of right_youngest_and_stop
# WRONG: only those who came later
# -             others = [scheduler.running[-1]]
# +             others = scheduler.running[scheduler.running.index(row) + 1 :]
# ...
# -             if row not in scheduler.running:
# -                 break
# -         if row not in scheduler.running:
# -             break


# %% wrong_always_itself, of right_youngest_and_stop
# WRONG: who asks gives way
# -             others = [scheduler.running[-1]]
# +             others = [row]


# %% wrong_not_noted, of right_youngest_and_stop
# WRONG: nobody hears who gave way
# -             plan.preempted.append(others[-1])


# %% wrong_no_chunk, of right_youngest_and_stop
# WRONG: nobody is fed
# -         plan.chunks.append((row, count))


# %% wrong_to_the_end_of_the_queue, of right_youngest_and_stop
# WRONG: who gave way stands at the end of the queue
#               plan.preempted.append(others[-1])
# +             scheduler.waiting.append(scheduler.waiting.pop(0))


# %% wrong_one_token_each, of right_youngest_and_stop
# WRONG: prompts are fed token by token
# -         count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
# +         count = min(1, scheduler.token_budget - plan.num_tokens)


# %% wrong_empty_plan
# WRONG: an empty plan
def repaired_feed(scheduler):
    return Plan()


# %% wrong_returns_nothing, of right_youngest_and_stop
# WRONG: without a result
# -     return plan


# %% wrong_no_arguments
# WRONG: a function without arguments
def repaired_feed():
    return Plan()


# %% wrong_no_function
# WRONG: not a function
repaired_feed = None


# === my_case
# Cases for "Find the bug": a younger request makes an older one give way, which has been fed. How they are judged: tests/lessons/test_asides.py.


# %% right_the_lessons
# RIGHT: B needs a third block while A has room
my_case = [(5, 5), (8, 5)], 4


# %% right_short_and_long
# RIGHT: a short one before a long one
my_case = [(1, 5), (10, 5)], 4


# %% right_lists
# RIGHT: lists in place of tuples
my_case = [[[5, 5], [8, 5]], 4]


# %% right_many
# RIGHT: eight of the longest
my_case = [(99, 99)] * 8, 50


# %% right_three
# RIGHT: three run
my_case = [(3, 9), (3, 9), (4, 9)], 5


# %% wrong_as_released
# WRONG: the cell's own
my_case = [(6, 5), (6, 5)], 4


# %% wrong_much_room
# WRONG: blocks enough for all
my_case = [(5, 5), (8, 5)], 20


# %% wrong_long_before_short
# WRONG: the oldest needs a block first
my_case = [(10, 5), (1, 5)], 4


# %% wrong_the_older_asks
# WRONG: the older one needs its block while the younger has room
my_case = [(1, 8), (4, 8)], 5


# %% wrong_alone
# WRONG: one request
my_case = [(8, 5)], 3


# %% wrong_alike
# WRONG: eight alike, in which the oldest asks first
my_case = [(5, 5)] * 8, 4


# %% wrong_never_fits
# WRONG: a request that cannot be finished
my_case = [(5, 5), (8, 50)], 4


# %% wrong_no_request
# WRONG: nobody asks
my_case = [], 4


# %% wrong_nine
# WRONG: more requests than the cell names
my_case = [(5, 5), (8, 5)] * 5, 4


# %% wrong_no_blocks
# WRONG: no blocks
my_case = [(5, 5), (8, 5)], 0


# %% wrong_no_prompt
# WRONG: a prompt without a token
my_case = [(0, 5), (8, 5)], 4


# %% wrong_nothing_asked
# WRONG: no token asked for
my_case = [(5, 0), (8, 5)], 4


# %% wrong_below_nothing
# WRONG: a prompt of less than nothing
my_case = [(-5, 5), (8, 5)], 4


# %% wrong_halves
# WRONG: half a token
my_case = [(5.5, 5), (8, 5)], 4


# %% wrong_not_a_number
# WRONG: not a number
my_case = [(float("nan"), 5), (8, 5)], 4


# %% wrong_blocks_forgotten
# WRONG: requests without the blocks
my_case = [(5, 5), (8, 5)]


# %% wrong_one_number
# WRONG: a request of one number
my_case = [(5, 5), (8,)], 4


# %% wrong_numbers_only
# WRONG: numbers in place of requests
my_case = [5, 8], 4


# %% wrong_words
# WRONG: words
my_case = [("5", "5"), ("8", "5")], "4"


# %% wrong_text
# WRONG: a text
my_case = "my case"


# %% wrong_none
# WRONG: nothing
my_case = None


# %% wrong_number
# WRONG: a number
my_case = 4


# === my_gaps
# Gaps that refute "a mean latency tells how well users are served". How they are judged: tests/lessons/test_asides.py.


# %% right_one_long_gap
# RIGHT: one among nine short ones
my_gaps = [5] * 9 + [60], [24] * 5


# %% right_just_above
# RIGHT: 26 ms against a mean of 10.25
my_gaps = [5, 5, 5, 26], [24]


# %% right_exactly_half
# RIGHT: the mean is exactly half
my_gaps = [4, 4, 4, 36], [24]


# %% right_long_answer
# RIGHT: 200 gaps
my_gaps = [1] * 199 + [2000], [25] * 200


# %% right_tensor
# RIGHT: as a tensor
my_gaps = torch.tensor([[5.0, 5.0, 5.0, 26.0], [24.0, 24.0, 24.0, 24.0]])


# %% wrong_as_released
# WRONG: the cell's own: both keep the promise
my_gaps = [10, 10, 10, 10, 10], [24, 24, 24, 24, 24]


# %% wrong_exactly_kept
# WRONG: a gap of 25 is not above 25
my_gaps = [5] * 9 + [25], [24] * 5


# %% wrong_both_break
# WRONG: the second breaks it, too
my_gaps = [5] * 9 + [60], [24] * 5 + [26]


# %% wrong_mean_not_half
# WRONG: a smaller mean, but not half
my_gaps = [20] * 9 + [50], [24]


# %% wrong_turned_round
# WRONG: the second breaks it
my_gaps = [24] * 5, [5] * 9 + [60]


# %% wrong_in_seconds
# WRONG: seconds
my_gaps = [0.005] * 9 + [0.06], [0.024] * 5


# %% wrong_zero
# WRONG: a gap of nothing
my_gaps = [0] * 9 + [60], [24]


# %% wrong_negative
# WRONG: gaps below nothing
my_gaps = [-50, 60], [24]


# %% wrong_endless
# WRONG: a gap that never ends
my_gaps = [5, math.inf], [24]


# %% wrong_not_a_number
# WRONG: not a number
my_gaps = [float("nan"), 60], [24]


# %% wrong_one_list
# WRONG: one service
my_gaps = [5] * 9 + [60]


# %% wrong_three_lists
# WRONG: three services
my_gaps = [5, 60], [24], [24]


# %% wrong_empty
# WRONG: services without gaps
my_gaps = [], []


# %% wrong_too_long
# WRONG: more gaps than the cell takes
my_gaps = [1] * 1000 + [60], [24]


# %% wrong_words
# WRONG: words
my_gaps = ["5", "60"], ["24"]


# %% wrong_text
# WRONG: a text
my_gaps = "60 24"


# %% wrong_none
# WRONG: nothing
my_gaps = None
