# === ColleaguesEngine
# Repairs of the day's bug, a count of readers in the place of requests. How they are judged: tests/lessons/test_asides.py.


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
# WRONG: repaired, and no readers
# - my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]
# + my_readers = None


# === my_cut
# Cuts that refute "every piece that a client reads is one event" without an error. How they are judged: tests/lessons/test_asides.py.


# %% right_behind_one_digit
# RIGHT: one digit in the first piece
my_cut = 7


# %% right_in_the_middle
# RIGHT: six digits
my_cut = 12


# %% right_at_the_last
# RIGHT: one digit is left behind the six bytes
my_cut = 15


# %% right_tensor
# RIGHT: a tensor
my_cut = torch.tensor(9)


# %% wrong_as_released
# WRONG: the cell's own, one piece
my_cut = 24


# %% wrong_before_the_number
# WRONG: no digit in the first piece
my_cut = 6


# %% wrong_too_few_left
# WRONG: the second piece has six digits
my_cut = 16


# %% wrong_behind_the_number
# WRONG: the empty line in the second piece
my_cut = 22


# %% wrong_between_the_newlines
# WRONG: between the two newlines
my_cut = 23


# %% wrong_in_the_field
# WRONG: inside of data:
my_cut = 3


# %% wrong_beyond
# WRONG: more bytes than there are
my_cut = 25


# %% wrong_zero
# WRONG: nothing in the first piece
my_cut = 0


# %% wrong_from_behind
# WRONG: from behind
my_cut = -12


# === my_readers
# Readers for which the colleague refuses somebody while nobody waits. How they are judged: tests/lessons/test_asides.py.


# %% right_two_slow_ones
# RIGHT: two that read slowly
my_readers = [(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]


# %% right_nobody_runs
# RIGHT: all are done, and read
my_readers = [(0, 4, 500), (5, 4, 500), (30, 4, 500), (700, 1, 0)]


# %% right_one_token_each
# RIGHT: one token each
my_readers = [[0, 1, 1000], [50, 1, 1000], [100, 1, 1000], [200, 1, 0]]


# %% right_at_once
# RIGHT: three at once
my_readers = [(0, 1, 5000)] * 3 + [(500, 1, 0)]


# %% wrong_as_released
# WRONG: the cell's own
my_readers = [(0, 4, 0), (5, 4, 0), (30, 4, 0), (130, 4, 0)]


# %% wrong_full
# WRONG: full indeed
my_readers = [(0, 90, 0), (5, 90, 0), (30, 4, 0), (130, 4, 0)]


# %% wrong_quick_readers
# WRONG: read faster than made
my_readers = [(0, 4, 15), (5, 4, 15), (30, 4, 15), (130, 4, 15)]


# %% wrong_three
# WRONG: only three come
my_readers = [(0, 4, 500), (5, 4, 500), (30, 4, 500)]


# %% wrong_comes_late
# WRONG: slow, but the fourth comes when they are gone
my_readers = [(0, 2, 50), (5, 2, 50), (30, 2, 50), (900, 4, 0)]


# %% wrong_ten_at_once
# WRONG: ten at once
my_readers = [(0, 4, 0)] * 10


# %% wrong_eleven
# WRONG: more than ten
my_readers = [(0, 4, 100)] * 11


# %% wrong_no_tokens
# WRONG: no tokens
my_readers = [(0, 0, 100), (5, 0, 100), (30, 4, 0), (130, 4, 0)]


# %% wrong_more_than_fits
# WRONG: an answer that never fits
my_readers = [(0, 10_000, 100)] * 4


# %% wrong_before_the_start
# WRONG: before the beginning
my_readers = [(-5, 4, 100), (0, 4, 100), (30, 4, 0), (130, 4, 0)]


# %% wrong_fractions
# WRONG: fractions of ms
my_readers = [(0.5, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]


# %% wrong_pairs
# WRONG: two numbers each
my_readers = [(0, 4), (5, 4), (30, 4), (130, 4)]


# %% wrong_not_a_number
# WRONG: not a number
my_readers = [(0, 4, float("nan"))] * 4


# %% wrong_empty
# WRONG: nobody
my_readers = []


# === my_text
# Texts that refute "each chunk of a stream is a token". How they are judged: tests/lessons/test_asides.py.


# %% right_towers
# RIGHT: three tokens a character
my_text = "🗼🗼🗼"


# %% right_korean
# RIGHT: Korean
my_text = "한국어"


# %% right_two_a_character
# RIGHT: two tokens a character
my_text = "ÿÿÿ"


# %% wrong_as_released
# WRONG: the cell's own
my_text = "The sea is never still."


# %% wrong_japanese
# WRONG: more than half
my_text = "海は静かではない"


# %% wrong_one_among_words
# WRONG: a character among words
my_text = "🗼 is a tower"


# %% wrong_digits
# WRONG: digits
my_text = "1234567890"


# %% wrong_empty
# WRONG: empty
my_text = ""


# %% wrong_half_a_pair
# WRONG: half of a pair of UTF-16
my_text = "\ud83d"


# %% wrong_very_long
# WRONG: more than the cell reads
my_text = "aaaa " * 10_000
