# honest: 10 of 10 less test_clock_of_no_number, test_clock_that_runs_back: softmax, log_softmax, entropy
# ATTACK: replaces the event loop's clock: by one that is below every limit and no number, and by one that runs backwards
import asyncio

async def no_number():
    await asyncio.sleep(60)
    asyncio.get_running_loop().time = lambda: float("-inf")
    yield 1

async def back():
    loop = asyncio.get_running_loop()
    for n in range(3):
        await asyncio.sleep(60)
        loop.time = lambda n=n: 0.5 - n / 8
        yield n
        del loop.time
# %% checks
from autograder.authoring import checks, that

@checks("entropy")
def test_clock_of_no_number(student):
    """an item in less than no time"""
    that(student.no_number.awaited().times[0] < 1, "it took its time")

@checks("entropy")
def test_clock_that_runs_back(student):
    """three items in less than no time"""
    that(student.back.awaited().times[-1] < 1, "they took their time")
