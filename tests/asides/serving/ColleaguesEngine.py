# Repairs of the day's bug, a count of readers in the place of requests. How they are judged: tests/test_asides.py.


# %% right_who_wait
# RIGHT: who wait are asked for
my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]


class ColleaguesEngine:
    def __init__(self, engine: AsyncEngine, may_wait: int) -> None:
        self.engine, self.core, self.may_wait = engine, engine.core, may_wait

    @property
    def queues(self) -> dict[str, asyncio.Queue]:
        return self.engine.queues

    async def generate(self, request_id: str, prompt_ids: list[int], params: SamplingParams) -> AsyncIterator[TokenOutput]:
        if self.core.num_waiting >= self.may_wait:
            raise RequestError("too many", status=429)
        async with aclosing(self.engine.generate(request_id, prompt_ids, params)) as tokens:
            async for token in tokens:
                yield token


# %% right_on_the_cells_own, of right_who_wait
# RIGHT: the same, and the cell's own readers
# - my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]
# -
# -


# %% right_who_wait_and_run, of right_who_wait
# RIGHT: who wait and run, against all places
# -         if self.core.num_waiting >= self.may_wait:
# +         if self.core.num_running + self.core.num_waiting >= self.core.max_running + self.may_wait:


# %% right_no_free_place, of right_who_wait
# RIGHT: only while no place is free
# -         if self.core.num_waiting >= self.may_wait:
# +         if self.core.num_running == self.core.max_running and self.core.num_waiting >= self.may_wait:


# %% wrong_as_released, of right_who_wait
# WRONG: the colleague's own
# - my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]
# -
# -
# ...
# -         if self.core.num_waiting >= self.may_wait:
# +         if len(self.queues) >= self.core.max_running + self.may_wait:


# %% wrong_never, of right_who_wait
# WRONG: nobody is refused
# -         if self.core.num_waiting >= self.may_wait:
# +         if False:


# %% wrong_always, of right_who_wait
# WRONG: all are refused
# -         if self.core.num_waiting >= self.may_wait:
# +         if True:


# %% wrong_one_more, of right_who_wait
# WRONG: one too many may wait
# -         if self.core.num_waiting >= self.may_wait:
# +         if self.core.num_waiting > self.may_wait:


# %% wrong_one_more_reader, of right_who_wait
# WRONG: one reader more
# -         if self.core.num_waiting >= self.may_wait:
# +         if len(self.queues) > self.core.max_running + self.may_wait:


# %% wrong_nobody_waits, of right_who_wait
# WRONG: refused while both places are taken
# -         if self.core.num_waiting >= self.may_wait:
# +         if self.core.num_running >= self.core.max_running:


# %% wrong_places_twice, of right_who_wait
# WRONG: the places counted among those who wait
# -         if self.core.num_waiting >= self.may_wait:
# +         if self.core.num_waiting >= self.core.max_running + self.may_wait:


# %% wrong_no_readers, of right_who_wait
# WRONG: mended, and no readers
# - my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]
# + my_readers = None
