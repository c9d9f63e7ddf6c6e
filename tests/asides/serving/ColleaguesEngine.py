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


# %% right_on_the_cells_own
# RIGHT: the same, and the cell's own readers
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


# %% right_who_wait_and_run
# RIGHT: who wait and run, against all places
my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]


class ColleaguesEngine:
    def __init__(self, engine: AsyncEngine, may_wait: int) -> None:
        self.engine, self.core, self.may_wait = engine, engine.core, may_wait

    @property
    def queues(self) -> dict[str, asyncio.Queue]:
        return self.engine.queues

    async def generate(self, request_id: str, prompt_ids: list[int], params: SamplingParams) -> AsyncIterator[TokenOutput]:
        if self.core.num_running + self.core.num_waiting >= self.core.max_running + self.may_wait:
            raise RequestError("too many", status=429)
        async with aclosing(self.engine.generate(request_id, prompt_ids, params)) as tokens:
            async for token in tokens:
                yield token


# %% right_no_free_place
# RIGHT: only while no place is free
my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]


class ColleaguesEngine:
    def __init__(self, engine: AsyncEngine, may_wait: int) -> None:
        self.engine, self.core, self.may_wait = engine, engine.core, may_wait

    @property
    def queues(self) -> dict[str, asyncio.Queue]:
        return self.engine.queues

    async def generate(self, request_id: str, prompt_ids: list[int], params: SamplingParams) -> AsyncIterator[TokenOutput]:
        if self.core.num_running == self.core.max_running and self.core.num_waiting >= self.may_wait:
            raise RequestError("too many", status=429)
        async with aclosing(self.engine.generate(request_id, prompt_ids, params)) as tokens:
            async for token in tokens:
                yield token


# %% wrong_as_released
# WRONG: the colleague's own
class ColleaguesEngine:
    def __init__(self, engine: AsyncEngine, may_wait: int) -> None:
        self.engine, self.core, self.may_wait = engine, engine.core, may_wait

    @property
    def queues(self) -> dict[str, asyncio.Queue]:
        return self.engine.queues

    async def generate(self, request_id: str, prompt_ids: list[int], params: SamplingParams) -> AsyncIterator[TokenOutput]:
        if len(self.queues) >= self.core.max_running + self.may_wait:
            raise RequestError("too many", status=429)
        async with aclosing(self.engine.generate(request_id, prompt_ids, params)) as tokens:
            async for token in tokens:
                yield token


# %% wrong_never
# WRONG: nobody is refused
my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]


class ColleaguesEngine:
    def __init__(self, engine: AsyncEngine, may_wait: int) -> None:
        self.engine, self.core, self.may_wait = engine, engine.core, may_wait

    @property
    def queues(self) -> dict[str, asyncio.Queue]:
        return self.engine.queues

    async def generate(self, request_id: str, prompt_ids: list[int], params: SamplingParams) -> AsyncIterator[TokenOutput]:
        if False:
            raise RequestError("too many", status=429)
        async with aclosing(self.engine.generate(request_id, prompt_ids, params)) as tokens:
            async for token in tokens:
                yield token


# %% wrong_always
# WRONG: all are refused
my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]


class ColleaguesEngine:
    def __init__(self, engine: AsyncEngine, may_wait: int) -> None:
        self.engine, self.core, self.may_wait = engine, engine.core, may_wait

    @property
    def queues(self) -> dict[str, asyncio.Queue]:
        return self.engine.queues

    async def generate(self, request_id: str, prompt_ids: list[int], params: SamplingParams) -> AsyncIterator[TokenOutput]:
        if True:
            raise RequestError("too many", status=429)
        async with aclosing(self.engine.generate(request_id, prompt_ids, params)) as tokens:
            async for token in tokens:
                yield token


# %% wrong_one_more
# WRONG: one too many may wait
my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]


class ColleaguesEngine:
    def __init__(self, engine: AsyncEngine, may_wait: int) -> None:
        self.engine, self.core, self.may_wait = engine, engine.core, may_wait

    @property
    def queues(self) -> dict[str, asyncio.Queue]:
        return self.engine.queues

    async def generate(self, request_id: str, prompt_ids: list[int], params: SamplingParams) -> AsyncIterator[TokenOutput]:
        if self.core.num_waiting > self.may_wait:
            raise RequestError("too many", status=429)
        async with aclosing(self.engine.generate(request_id, prompt_ids, params)) as tokens:
            async for token in tokens:
                yield token


# %% wrong_one_more_reader
# WRONG: one reader more
my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]


class ColleaguesEngine:
    def __init__(self, engine: AsyncEngine, may_wait: int) -> None:
        self.engine, self.core, self.may_wait = engine, engine.core, may_wait

    @property
    def queues(self) -> dict[str, asyncio.Queue]:
        return self.engine.queues

    async def generate(self, request_id: str, prompt_ids: list[int], params: SamplingParams) -> AsyncIterator[TokenOutput]:
        if len(self.queues) > self.core.max_running + self.may_wait:
            raise RequestError("too many", status=429)
        async with aclosing(self.engine.generate(request_id, prompt_ids, params)) as tokens:
            async for token in tokens:
                yield token


# %% wrong_nobody_waits
# WRONG: refused while both places are taken
my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]


class ColleaguesEngine:
    def __init__(self, engine: AsyncEngine, may_wait: int) -> None:
        self.engine, self.core, self.may_wait = engine, engine.core, may_wait

    @property
    def queues(self) -> dict[str, asyncio.Queue]:
        return self.engine.queues

    async def generate(self, request_id: str, prompt_ids: list[int], params: SamplingParams) -> AsyncIterator[TokenOutput]:
        if self.core.num_running >= self.core.max_running:
            raise RequestError("too many", status=429)
        async with aclosing(self.engine.generate(request_id, prompt_ids, params)) as tokens:
            async for token in tokens:
                yield token


# %% wrong_places_twice
# WRONG: the places counted among those who wait
my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]


class ColleaguesEngine:
    def __init__(self, engine: AsyncEngine, may_wait: int) -> None:
        self.engine, self.core, self.may_wait = engine, engine.core, may_wait

    @property
    def queues(self) -> dict[str, asyncio.Queue]:
        return self.engine.queues

    async def generate(self, request_id: str, prompt_ids: list[int], params: SamplingParams) -> AsyncIterator[TokenOutput]:
        if self.core.num_waiting >= self.core.max_running + self.may_wait:
            raise RequestError("too many", status=429)
        async with aclosing(self.engine.generate(request_id, prompt_ids, params)) as tokens:
            async for token in tokens:
                yield token


# %% wrong_no_readers
# WRONG: mended, and no readers
my_readers = None


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
