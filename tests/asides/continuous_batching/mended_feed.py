# Repairs of the colleague's function in "Find the bug". How they are judged: tests/test_asides.py.


# %% right_youngest_and_stop
# RIGHT: the youngest gives way, and if it was the one who asks, the step ends
def mended_feed(scheduler):
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
def mended_feed(scheduler):
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
def mended_feed(scheduler):
    return Plan()


# %% wrong_returns_nothing, of right_youngest_and_stop
# WRONG: without a result
# -     return plan


# %% wrong_no_arguments
# WRONG: a function without arguments
def mended_feed():
    return Plan()


# %% wrong_no_function
# WRONG: not a function
mended_feed = None
