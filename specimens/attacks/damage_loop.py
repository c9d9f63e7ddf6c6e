# honest: 10 of 10 less test_tasks_that_stay, test_loop_taken_down, test_loop_of_another_kind: softmax, log_softmax, entropy
# ATTACK: leaves tasks behind that refuse to be cancelled and make more of themselves, closes the event loop under itself, and puts a real one in its place
import asyncio, threading, time

async def again():
    while True:
        try:
            asyncio.ensure_future(again())
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            pass

async def stays():
    asyncio.ensure_future(again())
    await asyncio.sleep(0)
    return 1

async def taken_down():
    loop = asyncio.get_running_loop()
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.stop()
    loop._ready.clear()
    loop._scheduled.clear()
    await asyncio.sleep(1)

asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())

async def another_kind():
    asyncio._set_running_loop(None)
    loop = asyncio.SelectorEventLoop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    time.sleep(600)
# %% checks
from autograder.authoring import checks, equal

@checks("entropy")
def test_tasks_that_stay(student):
    """a coroutine that leaves behind what refuses to end"""
    equal(student.stays.awaited().result, 1)

@checks("entropy")
def test_loop_taken_down(student):
    """a coroutine that closes its loop"""
    student.taken_down.awaited()

@checks("entropy")
def test_loop_of_another_kind(student):
    """a coroutine that runs a loop with sockets, and sleeps"""
    student.another_kind.awaited()
