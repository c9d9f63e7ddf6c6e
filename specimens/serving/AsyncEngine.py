# Versions of AsyncEngine, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_engine_plain
# RIGHT: step by step; most of the wrong versions are edits of it
class AsyncEngine:
    def __init__(self, core, max_waiting):
        self.core, self.max_waiting = core, max_waiting
        self.queues = {}
        self.wake = asyncio.Event()
        self.draining = False

    async def run(self):
        while True:
            if not self.core.has_work:
                if self.draining:
                    return
                self.wake.clear()
                await self.wake.wait()
                continue
            try:
                outputs = await self.core.step()
            except Exception as error:
                for request_id in list(self.queues):
                    self.queues[request_id].put_nowait(error)
                    self.forget(request_id)
                continue
            for output in outputs:
                queue = self.queues.get(output.request_id)
                if queue is not None:
                    queue.put_nowait(output)

    async def generate(self, request_id, prompt_ids, params):
        if self.draining:
            raise RequestError("shutting down", status=503, code="shutting_down", kind="server_error")
        if self.core.num_waiting >= self.max_waiting:
            raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
        self.core.add(request_id, prompt_ids, params)
        queue = asyncio.Queue()
        self.queues[request_id] = queue
        self.wake.set()
        try:
            for _ in range(params.max_tokens):
                item = await queue.get()
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.forget(request_id)

    def forget(self, request_id):
        if request_id in self.queues:
            del self.queues[request_id]
            self.core.abort(request_id)

    def drain(self):
        self.draining = True
        self.wake.set()


# %% right_engine_reader_aborts
# RIGHT: where a step fails the readers abort, and `run` waits for their turn; a counter in place of range
class AsyncEngine:
    def __init__(self, core, max_waiting):
        self.core, self.max_waiting = core, max_waiting
        self.queues, self.wake, self.draining = {}, asyncio.Event(), False

    async def run(self):
        while self.core.has_work or not self.draining:
            if self.core.has_work:
                try:
                    for output in await self.core.step():
                        if output.request_id in self.queues:
                            await self.queues[output.request_id].put(output)
                except Exception as error:
                    for queue in self.queues.values():
                        queue.put_nowait(error)
                    for request_id in list(self.queues):
                        self.forget(request_id)
                    await asyncio.sleep(0)
            else:
                self.wake.clear()
                await self.wake.wait()

    async def generate(self, request_id, prompt_ids, params):
        if self.draining:
            raise RequestError("going down", status=503, code="shutting_down")
        if not self.core.num_waiting < self.max_waiting:
            raise RequestError("full", status=429, code="queue_full")
        queue = asyncio.Queue()
        self.core.add(request_id, prompt_ids, params)
        try:
            self.queues[request_id] = queue
            self.wake.set()
            count = 0
            while count < params.max_tokens:
                output = await queue.get()
                if isinstance(output, BaseException):
                    raise output
                count += 1
                yield output
        finally:
            self.forget(request_id)

    def forget(self, request_id):
        if self.queues.pop(request_id, None) is None:
            return
        self.core.abort(request_id)

    def drain(self):
        self.draining = True
        self.wake.set()


# %% right_engine_queue_first
# RIGHT: the queue is made before the request is added, and taken back where that fails; errors come as a tuple
class AsyncEngine:
    def __init__(self, core, max_waiting):
        self.core = core
        self.max_waiting = max_waiting
        self.queues = {}
        self.wake = asyncio.Event()
        self.draining = False

    async def run(self):
        while not (self.draining and not self.core.has_work):
            while self.core.has_work:
                await self._step()
            if not self.draining:
                self.wake.clear()
                await self.wake.wait()

    async def _step(self):
        failed = None
        outputs = []
        try:
            outputs = await self.core.step()
        except Exception as error:
            failed = error
        for output in outputs:
            if output.request_id in self.queues:
                self.queues[output.request_id].put_nowait((output, None))
        if failed is not None:
            open_ones = dict(self.queues)
            for request_id, queue in open_ones.items():
                queue.put_nowait((None, failed))
                self.forget(request_id)

    async def generate(self, request_id, prompt_ids, params):
        if self.draining:
            raise RequestError("no more", status=503, code="shutting_down", kind="server_error")
        waiting = self.core.num_waiting
        if waiting >= self.max_waiting:
            raise RequestError(f"{waiting} wait", status=429, code="queue_full", kind="rate_limit_error")
        queue = self.queues[request_id] = asyncio.Queue()
        try:
            self.core.add(request_id, prompt_ids, params)
        except BaseException:
            del self.queues[request_id]
            raise
        self.wake.set()
        got = 0
        try:
            while True:
                output, error = await queue.get()
                if error is not None:
                    raise error
                yield output
                got += 1
                if got == params.max_tokens:
                    return
        finally:
            self.forget(request_id)

    def forget(self, request_id):
        queue = self.queues.pop(request_id, None)
        if queue is not None:
            self.core.abort(request_id)

    def drain(self):
        self.draining = True
        self.wake.set()


# %% right_engine_cleared_often
# RIGHT: what wakes it is cleared before and after a step: it is needed by an idle loop alone
class AsyncEngine:
    def __init__(self, core, max_waiting):
        self.core, self.max_waiting = core, max_waiting
        self.queues = {}
        self.wake = asyncio.Event()
        self.draining = False

    async def run(self):
        while True:
            if not self.core.has_work:
                if self.draining:
                    return
                self.wake.clear()
                await self.wake.wait()
                continue
            try:
                self.wake.clear()
                outputs = await self.core.step()
                self.wake.clear()
            except Exception as error:
                for request_id in list(self.queues):
                    self.queues[request_id].put_nowait(error)
                    self.forget(request_id)
                continue
            for output in outputs:
                queue = self.queues.get(output.request_id)
                if queue is not None:
                    queue.put_nowait(output)

    async def generate(self, request_id, prompt_ids, params):
        if self.draining:
            raise RequestError("shutting down", status=503, code="shutting_down", kind="server_error")
        if self.core.num_waiting >= self.max_waiting:
            raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
        self.core.add(request_id, prompt_ids, params)
        queue = asyncio.Queue()
        self.queues[request_id] = queue
        self.wake.set()
        try:
            for _ in range(params.max_tokens):
                item = await queue.get()
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.forget(request_id)

    def forget(self, request_id):
        if request_id in self.queues:
            del self.queues[request_id]
            self.core.abort(request_id)

    def drain(self):
        self.draining = True
        self.wake.set()


# %% right_engine_cleared_behind
# RIGHT: what woke it is taken back after the wait: it looks once more before it sleeps
class AsyncEngine:
    def __init__(self, core, max_waiting):
        self.core, self.max_waiting = core, max_waiting
        self.queues = {}
        self.wake = asyncio.Event()
        self.draining = False

    async def run(self):
        while True:
            if not self.core.has_work:
                if self.draining:
                    return
                await self.wake.wait()
                self.wake.clear()
                continue
            try:
                outputs = await self.core.step()
            except Exception as error:
                for request_id in list(self.queues):
                    self.queues[request_id].put_nowait(error)
                    self.forget(request_id)
                continue
            for output in outputs:
                queue = self.queues.get(output.request_id)
                if queue is not None:
                    queue.put_nowait(output)

    async def generate(self, request_id, prompt_ids, params):
        if self.draining:
            raise RequestError("shutting down", status=503, code="shutting_down", kind="server_error")
        if self.core.num_waiting >= self.max_waiting:
            raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
        self.core.add(request_id, prompt_ids, params)
        queue = asyncio.Queue()
        self.queues[request_id] = queue
        self.wake.set()
        try:
            for _ in range(params.max_tokens):
                item = await queue.get()
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.forget(request_id)

    def forget(self, request_id):
        if request_id in self.queues:
            del self.queues[request_id]
            self.core.abort(request_id)

    def drain(self):
        self.draining = True
        self.wake.set()


# %% wrong_engine_no_abort, of right_engine_plain
# WRONG: a request whose reader leaves goes on
#               del self.queues[request_id]
# -             self.core.abort(request_id)


# %% wrong_engine_queue_kept, of right_engine_plain
# WRONG: the queue of a reader that has left stays
#           if request_id in self.queues:
# -             del self.queues[request_id]
#               self.core.abort(request_id)


# %% wrong_engine_aborts_twice, of right_engine_plain
# WRONG: a request is aborted again by its reader
# -         if request_id in self.queues:
# -             del self.queues[request_id]
# -             self.core.abort(request_id)
# +         self.queues.pop(request_id, None)
# +         self.core.abort(request_id)


# %% wrong_engine_no_abort_of_finished, of right_engine_plain
# WRONG: a request that got all its tokens is not forgotten
#           try:
#               for _ in range(params.max_tokens):
#                   item = await queue.get()
#                   if isinstance(item, Exception):
#                       raise item
#                   yield item
# -         finally:
# -             self.forget(request_id)
# +         except BaseException:
# +             self.forget(request_id)
# +             raise


# %% wrong_engine_forgets_only_in_the_end, of right_engine_plain
# WRONG: only a request that is read to its end is forgotten
# -         try:
# -             for _ in range(params.max_tokens):
# -                 item = await queue.get()
# -                 if isinstance(item, Exception):
# -                     raise item
# -                 yield item
# -         finally:
# -             self.forget(request_id)
# +         for _ in range(params.max_tokens):
# +             item = await queue.get()
# +             if isinstance(item, Exception):
# +                 raise item
# +             yield item
# +         self.forget(request_id)


# %% wrong_engine_break_not_seen, of right_engine_plain
# WRONG: a cancelled reader is forgotten, one that breaks off is not
# -         finally:
# +         except (Exception, asyncio.CancelledError):
# +             self.forget(request_id)
# +             raise
# +         else:
#               self.forget(request_id)


# %% wrong_engine_cancel_not_seen, of right_engine_plain
# WRONG: a reader that breaks off is forgotten, one that is cancelled is not
# -         finally:
# +         except GeneratorExit:
# +             self.forget(request_id)
# +             raise
# +         except asyncio.CancelledError:
# +             raise
# +         except Exception:
# +             self.forget(request_id)
# +             raise
# +         else:
#               self.forget(request_id)


# %% wrong_engine_cancel_swallowed, of right_engine_plain
# WRONG: a cancelled reader reads on as if it had come to its end
# -         finally:
# +         except asyncio.CancelledError:
# +             pass
# +         finally:
#               self.forget(request_id)


# %% wrong_engine_late_token_kills, of right_engine_plain
# WRONG: a token for somebody who has left ends the loop
# -                 queue = self.queues.get(output.request_id)
# -                 if queue is not None:
# -                     queue.put_nowait(output)
# +                 self.queues[output.request_id].put_nowait(output)


# %% wrong_engine_limit_off_by_one, of right_engine_plain
# WRONG: one more may wait
# -         if self.core.num_waiting >= self.max_waiting:
# +         if self.core.num_waiting > self.max_waiting:


# %% wrong_engine_limit_one_less, of right_engine_plain
# WRONG: one fewer may wait
# -         if self.core.num_waiting >= self.max_waiting:
# +         if self.core.num_waiting + 1 >= self.max_waiting:


# %% wrong_engine_no_limit, of right_engine_plain
# WRONG: anybody may wait
# -         if self.core.num_waiting >= self.max_waiting:
# -             raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")


# %% wrong_engine_running_count_as_waiting, of right_engine_plain
# WRONG: those who run count too
# -         if self.core.num_waiting >= self.max_waiting:
# +         if self.core.num_waiting + self.core.num_running >= self.max_waiting:


# %% wrong_engine_open_count_as_waiting, of right_engine_plain
# WRONG: every open request counts
# -         if self.core.num_waiting >= self.max_waiting:
# +         if len(self.queues) >= self.max_waiting:


# %% wrong_engine_free_blocks_decide, of right_engine_plain
# WRONG: refused when blocks are few, not when many wait
# -         if self.core.num_waiting >= self.max_waiting:
# +         if self.core.num_free_blocks <= 6:


# %% wrong_engine_refused_after_adding, of right_engine_plain
# WRONG: refused when it has been added
# -         if self.core.num_waiting >= self.max_waiting:
# -             raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
# -         self.core.add(request_id, prompt_ids, params)
# +         self.core.add(request_id, prompt_ids, params)
# +         if self.core.num_waiting > self.max_waiting:
# +             raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")


# %% wrong_engine_refused_and_aborted, of right_engine_plain
# WRONG: refused when it has been added, and aborted then
# -         if self.core.num_waiting >= self.max_waiting:
# -             raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
# -         self.core.add(request_id, prompt_ids, params)
# +         self.core.add(request_id, prompt_ids, params)
# +         if self.core.num_waiting > self.max_waiting:
# +             self.core.abort(request_id)
# +             raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")


# %% wrong_engine_waits_for_room, of right_engine_plain
# WRONG: waits in place of refusing
# -         if self.core.num_waiting >= self.max_waiting:
# -             raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
# +         while self.core.num_waiting >= self.max_waiting:
# +             await asyncio.sleep(0.01)


# %% wrong_engine_status_503_when_full, of right_engine_plain
# WRONG: another status
# -             raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
# +             raise RequestError("too many wait", status=503, code="queue_full", kind="rate_limit_error")


# %% wrong_engine_status_400_when_full, of right_engine_plain
# WRONG: no status at all: it is 400
# -             raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
# +             raise RequestError("too many wait", code="queue_full", kind="rate_limit_error")


# %% wrong_engine_no_code_when_full, of right_engine_plain
# WRONG: no code
# -             raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
# +             raise RequestError("too many wait", status=429)


# %% wrong_engine_runtime_error_when_full, of right_engine_plain
# WRONG: another exception
# -             raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
# +             raise RuntimeError("too many wait")


# %% wrong_engine_silent_when_full, of right_engine_plain
# WRONG: ends without a token in place of refusing
# -             raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
# +             return


# %% wrong_engine_spins, of right_engine_plain
# WRONG: steps without work
# -             if not self.core.has_work:
# -                 if self.draining:
# -                     return
# -                 self.wake.clear()
# -                 await self.wake.wait()
# -                 continue
# +             if self.draining and not self.core.has_work:
# +                 return


# %% wrong_engine_spins_in_turns, of right_engine_plain
# WRONG: asks again and again while it is idle
# -                 self.wake.clear()
# -                 await self.wake.wait()
# +                 await asyncio.sleep(0)
#                   continue


# %% wrong_engine_polls, of right_engine_plain
# WRONG: asks every 10 ms while it is idle
# -                 self.wake.clear()
# -                 await self.wake.wait()
# +                 await asyncio.sleep(0.01)
#                   continue


# %% wrong_engine_polls_each_minute, of right_engine_plain
# WRONG: wakes every minute to ask
#                   self.wake.clear()
# -                 await self.wake.wait()
# +                 await asyncio.wait([asyncio.ensure_future(self.wake.wait())], timeout=60)
#                   continue


# %% wrong_engine_never_woken, of right_engine_plain
# WRONG: nobody wakes it
# -         self.wake.set()
#           try:


# %% wrong_engine_wake_never_cleared, of right_engine_plain
# WRONG: once woken it never waits again
# -                 self.wake.clear()
#                   await self.wake.wait()


# %% wrong_engine_one_queue, of right_engine_plain
# WRONG: all readers share a queue
# -         queue = asyncio.Queue()
# +         queue = next(iter(self.queues.values()), None) or asyncio.Queue()
#           self.queues[request_id] = queue


# %% wrong_engine_shared
# WRONG: the queues are attributes of the class, keyed by the length of the prompt
class AsyncEngine:
    queues = {}

    def __init__(self, core, max_waiting):
        self.core, self.max_waiting = core, max_waiting
        self.wake = asyncio.Event()
        self.draining = False

    async def run(self):
        while True:
            if not self.core.has_work:
                if self.draining:
                    return
                self.wake.clear()
                await self.wake.wait()
                continue
            try:
                outputs = await self.core.step()
            except Exception as error:
                for request_id in list(self.queues):
                    self.queues[request_id].put_nowait(error)
                    self.forget(request_id)
                continue
            for output in outputs:
                queue = self.queues.get(output.request_id)
                if queue is not None:
                    queue.put_nowait(output)

    async def generate(self, request_id, prompt_ids, params):
        if self.draining:
            raise RequestError("shutting down", status=503, code="shutting_down", kind="server_error")
        if self.core.num_waiting >= self.max_waiting:
            raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
        self.core.add(request_id, prompt_ids, params)
        queue = asyncio.Queue()
        self.queues[request_id] = queue
        self.wake.set()
        try:
            for _ in range(params.max_tokens):
                item = await queue.get()
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.forget(request_id)

    def forget(self, request_id):
        if request_id in self.queues:
            self.core.abort(request_id)

    def drain(self):
        self.draining = True
        self.wake.set()


# %% wrong_engine_queues_in_the_class, of right_engine_plain
# WRONG: the queues are made once, in the class, for all engines: a failed step of one ends the requests of another
#   class AsyncEngine:
# +     queues = {}
# +
# ...
# -         self.queues = {}


# %% wrong_engine_wake_in_the_class, of right_engine_plain
# WRONG: the event is made once for all engines
# -         self.wake = asyncio.Event()
# +         AsyncEngine.wake = getattr(AsyncEngine, "wake", None) or asyncio.Event()


# %% wrong_engine_one_token, of right_engine_plain
# WRONG: ends after the first token
# -                 yield item
# +                 yield item
# +                 break


# %% wrong_engine_one_token_too_many, of right_engine_plain
# WRONG: waits for one token too many
# -             for _ in range(params.max_tokens):
# +             for _ in range(params.max_tokens + 1):


# %% wrong_engine_one_token_too_few, of right_engine_plain
# WRONG: ends a token early
# -             for _ in range(params.max_tokens):
# +             for _ in range(params.max_tokens - 1):


# %% wrong_engine_never_ends, of right_engine_plain
# WRONG: does not end with its last token
# -             for _ in range(params.max_tokens):
# +             while True:


# %% wrong_engine_ids_only, of right_engine_plain
# WRONG: gives token ids and not outputs
# -                 yield item
# +                 yield item.token_id


# %% wrong_engine_collects, of right_engine_plain
# WRONG: gives everything with the last token
#           try:
# -             for _ in range(params.max_tokens):
# -                 item = await queue.get()
# -                 if isinstance(item, Exception):
# -                     raise item
# +             items = []
# +             for _ in range(params.max_tokens):
# +                 item = await queue.get()
# +                 if isinstance(item, Exception):
# +                     raise item
# +                 items.append(item)
# +             for item in items:
#                   yield item


# %% wrong_engine_newest_first, of right_engine_plain
# WRONG: the newest output first
# -         queue = asyncio.Queue()
# +         queue = asyncio.LifoQueue()


# %% wrong_engine_bounded_queue, of right_engine_plain
# WRONG: a queue of two: a slow reader's tokens are lost, or end the loop
# -         queue = asyncio.Queue()
# +         queue = asyncio.Queue(2)


# %% wrong_engine_waits_for_readers, of right_engine_plain
# WRONG: a slow reader holds everybody up
# -                     queue.put_nowait(output)
# +                     await queue.put(output)
# ...
# -         queue = asyncio.Queue()
# +         queue = asyncio.Queue(1)


# %% wrong_engine_step_failure_kills, of right_engine_plain
# WRONG: a step that raises ends the loop
# -             except Exception as error:
# -                 for request_id in list(self.queues):
# -                     self.queues[request_id].put_nowait(error)
# -                     self.forget(request_id)
# +             except ZeroDivisionError:
#                   continue


# %% wrong_engine_step_failure_ends_run, of right_engine_plain
# WRONG: the readers get the exception, and the loop ends
#                       self.forget(request_id)
# -                 continue
# +                 raise


# %% wrong_engine_step_failure_returns, of right_engine_plain
# WRONG: the readers get the exception, and the loop returns
#                       self.forget(request_id)
# -                 continue
# +                 return


# %% wrong_engine_step_failure_unseen, of right_engine_plain
# WRONG: a step that raises is passed over: its tokens are missing
# -                 for request_id in list(self.queues):
# -                     self.queues[request_id].put_nowait(error)
# -                     self.forget(request_id)
#                   continue


# %% wrong_engine_step_failure_of_one, of right_engine_plain
# WRONG: only one reader gets the exception
# -                 for request_id in list(self.queues):
# +                 for request_id in list(self.queues)[:1]:


# %% wrong_engine_step_failure_another, of right_engine_plain
# WRONG: the readers get another exception
# -                     self.queues[request_id].put_nowait(error)
# +                     self.queues[request_id].put_nowait(RuntimeError("a step failed"))


# %% wrong_engine_step_failure_as_refusal, of right_engine_plain
# WRONG: the readers get a RequestError
# -                     self.queues[request_id].put_nowait(error)
# +                     self.queues[request_id].put_nowait(RequestError(str(error), status=500))


# %% wrong_engine_step_failure_ends_quietly, of right_engine_plain
# WRONG: a reader's answer ends where a step raised
#                   if isinstance(item, Exception):
# -                     raise item
# +                     return


# %% wrong_engine_step_failure_given_out, of right_engine_plain
# WRONG: the exception is given out like a token
# -                 if isinstance(item, Exception):
# -                     raise item


# %% wrong_engine_step_failure_not_aborted, of right_engine_plain
# WRONG: requests that a step failed stay in the core
# -                     self.queues[request_id].put_nowait(error)
# -                     self.forget(request_id)
# +                     self.queues.pop(request_id).put_nowait(error)


# %% wrong_engine_step_failure_first, of right_engine_plain
# WRONG: the exception goes before tokens that wait
# -                     self.queues[request_id].put_nowait(error)
# +                     while not self.queues[request_id].empty():
# +                         self.queues[request_id].get_nowait()
# +                     self.queues[request_id].put_nowait(error)


# %% wrong_engine_cancellation_is_failure, of right_engine_plain
# WRONG: a cancelled `run` takes it for a step that raised
# -             except Exception as error:
# +             except BaseException as error:


# %% wrong_engine_steps_again, of right_engine_plain
# WRONG: a second step is made before the first one's tokens are given out
# -                 outputs = await self.core.step()
# +                 outputs = await self.core.step()
# +                 if self.core.has_work:
# +                     outputs += await self.core.step()


# %% wrong_engine_rests_between_steps, of right_engine_plain
# WRONG: sleeps a millisecond after every step
# -             for output in outputs:
# +             await asyncio.sleep(0.001)
# +             for output in outputs:


# %% wrong_engine_drain_stops_at_once, of right_engine_plain
# WRONG: who is there is not answered when the engine drains
# -         while True:
# +         while not self.draining:


# %% wrong_engine_drain_never_returns, of right_engine_plain
# WRONG: `run` goes on waiting when the engine drains
# -                 if self.draining:
# -                     return


# %% wrong_engine_drain_does_not_wake, of right_engine_plain
# WRONG: an idle `run` does not hear of it
#           self.draining = True
# -         self.wake.set()


# %% wrong_engine_drain_takes_more, of right_engine_plain
# WRONG: new requests are taken while it drains
# -         if self.draining:
# -             raise RequestError("shutting down", status=503, code="shutting_down", kind="server_error")


# %% wrong_engine_drain_429, of right_engine_plain
# WRONG: a request that arrives while it drains gets 429
# -             raise RequestError("shutting down", status=503, code="shutting_down", kind="server_error")
# +             raise RequestError("shutting down", status=429, code="queue_full", kind="rate_limit_error")


# %% wrong_engine_drain_no_code, of right_engine_plain
# WRONG: no code while it drains
# -             raise RequestError("shutting down", status=503, code="shutting_down", kind="server_error")
# +             raise RequestError("shutting down", status=503)


# %% wrong_engine_drain_aborts, of right_engine_plain
# WRONG: draining aborts everybody
#           self.draining = True
# -         self.wake.set()
# +         for request_id in list(self.queues):
# +             self.forget(request_id)
# +         self.wake.set()


# %% wrong_engine_drain_full_first, of right_engine_plain
# WRONG: a full queue is told of before draining is
# -         if self.draining:
# -             raise RequestError("shutting down", status=503, code="shutting_down", kind="server_error")
# -         if self.core.num_waiting >= self.max_waiting:
# -             raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
# +         if self.core.num_waiting >= self.max_waiting:
# +             raise RequestError("too many wait", status=429, code="queue_full", kind="rate_limit_error")
# +         if self.draining:
# +             raise RequestError("shutting down", status=503, code="shutting_down", kind="server_error")


# %% wrong_engine_add_failure_leaves_queue, of right_engine_plain
# WRONG: where the core does not take a request its queue stays
# -         self.core.add(request_id, prompt_ids, params)
# -         queue = asyncio.Queue()
# -         self.queues[request_id] = queue
# +         queue = asyncio.Queue()
# +         self.queues[request_id] = queue
# +         self.core.add(request_id, prompt_ids, params)


# %% wrong_engine_add_failure_aborts, of right_engine_plain
# WRONG: where the core does not take a request it is aborted
# -         self.core.add(request_id, prompt_ids, params)
# -         queue = asyncio.Queue()
# -         self.queues[request_id] = queue
# -         self.wake.set()
# -         try:
# +         queue = asyncio.Queue()
# +         self.queues[request_id] = queue
# +         self.wake.set()
# +         try:
# +             self.core.add(request_id, prompt_ids, params)


# %% wrong_engine_prompt_lost, of right_engine_plain
# WRONG: the core gets no prompt
# -         self.core.add(request_id, prompt_ids, params)
# +         self.core.add(request_id, [], params)


# %% wrong_engine_params_lost, of right_engine_plain
# WRONG: the core gets params of its own
# -         self.core.add(request_id, prompt_ids, params)
# +         self.core.add(request_id, prompt_ids, SamplingParams(max_tokens=params.max_tokens))


# %% wrong_engine_adds_at_once
# WRONG: the request is added when `generate` is called, not when the first token is asked for
class AsyncEngine:
    def __init__(self, core, max_waiting):
        self.core, self.max_waiting, self.queues, self.wake, self.draining = core, max_waiting, {}, asyncio.Event(), False

    async def run(self):
        while self.core.has_work or not self.draining:
            if not self.core.has_work:
                self.wake.clear()
                await self.wake.wait()
                continue
            try:
                for output in await self.core.step():
                    if output.request_id in self.queues:
                        self.queues[output.request_id].put_nowait(output)
            except Exception as error:
                for request_id, queue in list(self.queues.items()):
                    queue.put_nowait(error)
                    self.forget(request_id)

    def generate(self, request_id, prompt_ids, params):
        if self.draining:
            raise RequestError("shutting down", status=503, code="shutting_down")
        if self.core.num_waiting >= self.max_waiting:
            raise RequestError("too many wait", status=429, code="queue_full")
        self.core.add(request_id, prompt_ids, params)
        self.queues[request_id] = queue = asyncio.Queue()
        self.wake.set()
        return self._read(request_id, queue, params)

    async def _read(self, request_id, queue, params):
        try:
            for _ in range(params.max_tokens):
                output = await queue.get()
                if isinstance(output, Exception):
                    raise output
                yield output
        finally:
            self.forget(request_id)

    def forget(self, request_id):
        if self.queues.pop(request_id, None) is not None:
            self.core.abort(request_id)

    def drain(self):
        self.draining = True
        self.wake.set()


# %% wrong_engine_every_reader_steps
# WRONG: every reader steps the core for itself, and nobody else
class AsyncEngine:
    def __init__(self, core, max_waiting):
        self.core, self.max_waiting, self.queues, self.wake, self.draining = core, max_waiting, {}, asyncio.Event(), False

    async def run(self):
        await self.wake.wait()

    async def generate(self, request_id, prompt_ids, params):
        if self.draining:
            raise RequestError("shutting down", status=503, code="shutting_down")
        if self.core.num_waiting >= self.max_waiting:
            raise RequestError("too many wait", status=429, code="queue_full")
        self.core.add(request_id, prompt_ids, params)
        queue = self.queues[request_id] = asyncio.Queue()
        try:
            for _ in range(params.max_tokens):
                while queue.empty():
                    for output in await self.core.step():
                        if output.request_id in self.queues:
                            self.queues[output.request_id].put_nowait(output)
                yield queue.get_nowait()
        finally:
            self.forget(request_id)

    def forget(self, request_id):
        if self.queues.pop(request_id, None) is not None:
            self.core.abort(request_id)

    def drain(self):
        self.draining = True
        self.wake.set()


# %% wrong_engine_abort_delayed, of right_engine_plain
# WRONG: a request is aborted a second after its reader has left
# -             self.core.abort(request_id)
# +             asyncio.get_running_loop().call_later(1.0, self.core.abort, request_id)


# %% wrong_engine_abort_by_the_next_step, of right_engine_plain
# WRONG: a reader that leaves is found out only with its next token
#               for output in outputs:
#                   queue = self.queues.get(output.request_id)
#                   if queue is not None:
# -                     queue.put_nowait(output)
# +                     queue.put_nowait(output)
# +                 else:
# +                     self.core.abort(output.request_id)
# ...
#               del self.queues[request_id]
# -             self.core.abort(request_id)


# %% wrong_engine_lets_ids_collide, of right_engine_plain
# WRONG: the queue is found by the first letter of the id
# -         self.queues[request_id] = queue
# +         self.queues[request_id] = queue
# +         self.queues[request_id[:1]] = queue


# %% wrong_engine_eos_hangs, of right_engine_plain
# WRONG: the answer ends only where the core says that nobody runs
#               for _ in range(params.max_tokens):
# -                 item = await queue.get()
# +                 while self.core.num_running and queue.empty():
# +                     await asyncio.sleep(0.005)
# +                 item = await queue.get()


# %% wrong_engine_failed_not_aborted_by_run, of right_engine_plain
# WRONG: requests that a step failed are aborted when their readers come to it
#                       self.queues[request_id].put_nowait(error)
# -                     self.forget(request_id)


# %% wrong_engine_failure_of_the_waiting, of right_engine_plain
# WRONG: only readers that wait for a token get the exception
# -                 for request_id in list(self.queues):
# +                 for request_id in [name for name in self.queues if self.queues[name].empty()]:


# %% wrong_engine_patience, of right_engine_plain
# WRONG: a reader that waits for ten seconds gives up
# -                 item = await queue.get()
# +                 item = await asyncio.wait_for(queue.get(), 10.0)


# %% wrong_engine_four_a_step, of right_engine_plain
# WRONG: of a step's outputs only the first four are given out
# -             for output in outputs:
# +             for output in outputs[:4]:


# %% wrong_engine_rests_without_outputs, of right_engine_plain
# WRONG: a step that gives no token is taken for the end of the work
# -             for output in outputs:
# +             if not outputs:
# +                 self.wake.clear()
# +                 await self.wake.wait()
# +             for output in outputs:


# %% wrong_engine_woken_by_the_first, of right_engine_plain
# WRONG: only the first open request wakes it
# -         self.wake.set()
# +         if len(self.queues) == 1:
# +             self.wake.set()
#           try:


# %% wrong_engine_wakes_at_once_only, of right_engine_plain
# WRONG: a cancelled `run` waits on
# -                 await self.wake.wait()
# +                 try:
# +                     await self.wake.wait()
# +                 except asyncio.CancelledError:
# +                     pass
#                   continue


# %% wrong_engine_others_forgotten, of right_engine_plain
# WRONG: a reader that leaves clears all queues
# -             del self.queues[request_id]
# -             self.core.abort(request_id)
# +             self.core.abort(request_id)
# +             self.queues.clear()


# %% wrong_engine_copies, of right_engine_plain
# WRONG: an output is rebuilt without its log probabilities
# -                 yield item
# +                 yield TokenOutput(item.request_id, item.token_id)


# %% wrong_engine_slow_end, of right_engine_plain
# WRONG: a reader's end takes 5 ms
#           finally:
# -             self.forget(request_id)
# +             await asyncio.sleep(0.005)
# +             self.forget(request_id)


# %% wrong_engine_queue_of_64_drops, of right_engine_plain
# WRONG: a queue holds 64 tokens: what a reader that lags further has not read is lost
# -                 if queue is not None:
# +                 if queue is not None and not queue.full():
# ...
# -         queue = asyncio.Queue()
# +         queue = asyncio.Queue(64)


# %% wrong_engine_queue_of_64_waits, of right_engine_plain
# WRONG: a queue holds 64 tokens: `run` waits for a reader that lags further
# -                     queue.put_nowait(output)
# +                     await queue.put(output)
# ...
# -         queue = asyncio.Queue()
# +         queue = asyncio.Queue(64)


# %% wrong_engine_queue_of_256_raises, of right_engine_plain
# WRONG: a queue holds 256 tokens, and one more ends the loop
# -         queue = asyncio.Queue()
# +         queue = asyncio.Queue(256)


# %% wrong_engine_lagging_reader_dropped, of right_engine_plain
# WRONG: a reader with 50 unread tokens is taken for one that has left
# -                     queue.put_nowait(output)
# +                     queue.put_nowait(output)
# +                     if queue.qsize() >= 50:
# +                         self.forget(output.request_id)


# %% wrong_engine_sixteen_outputs, of right_engine_plain
# WRONG: of a step's outputs only the first sixteen are given out
# -             for output in outputs:
# +             for output in outputs[:16]:


# %% wrong_engine_128_tokens, of right_engine_plain
# WRONG: an answer ends after 128 tokens
# -             for _ in range(params.max_tokens):
# +             for _ in range(min(params.max_tokens, 128)):


# %% wrong_engine_three_failures, of right_engine_plain
# WRONG: after three steps that failed `run` gives up
#       async def run(self):
# +         failures = 0
# ...
#               except Exception as error:
# +                 failures += 1
#                   for request_id in list(self.queues):
#                       self.queues[request_id].put_nowait(error)
#                       self.forget(request_id)
# +                 if failures > 3:
# +                     raise


# %% wrong_engine_failure_of_four, of right_engine_plain
# WRONG: of a step that failed only the first four readers get the exception
# -                 for request_id in list(self.queues):
# +                 for request_id in list(self.queues)[:4]:


# %% wrong_engine_ids_once, of right_engine_plain
# WRONG: the id of a request that has ended cannot be used again
#       async def generate(self, request_id, prompt_ids, params):
# +         self.seen = getattr(self, "seen", set())
# +         if request_id in self.seen:
# +             raise RequestError("this id has been used", status=400, code="duplicate_id")
# +         self.seen.add(request_id)


# %% wrong_engine_ended_ids_ignored, of right_engine_plain
# WRONG: an id that has ended is ended for good: its second request gets no token
#                   queue = self.queues.get(output.request_id)
# -                 if queue is not None:
# +                 if queue is not None and output.request_id not in getattr(self, "gone", ()):
# ...
#               del self.queues[request_id]
# +             self.gone = {*getattr(self, "gone", ()), request_id}


# %% wrong_engine_forget_unknown_aborts, of right_engine_plain
# WRONG: `forget` of an id that is not open aborts it in the core
#           finally:
# -             self.forget(request_id)
# +             if request_id in self.queues:
# +                 self.forget(request_id)
# ...
# -         if request_id in self.queues:
# -             del self.queues[request_id]
# -             self.core.abort(request_id)
# +         self.queues.pop(request_id, None)
# +         self.core.abort(request_id)


# %% wrong_engine_forget_unknown_raises, of right_engine_plain
# WRONG: `forget` of an id that is not open raises
#           finally:
# -             self.forget(request_id)
# +             if request_id in self.queues:
# +                 self.forget(request_id)
# ...
# -         if request_id in self.queues:
# -             del self.queues[request_id]
# -             self.core.abort(request_id)
# +         del self.queues[request_id]
# +         self.core.abort(request_id)


# %% wrong_engine_drain_toggles, of right_engine_plain
# WRONG: a second `drain` takes the first one back
# -         self.draining = True
# +         self.draining = not self.draining


# %% wrong_engine_drain_once_only, of right_engine_plain
# WRONG: a second `drain` raises
#       def drain(self):
# +         if self.draining:
# +             raise RuntimeError("the engine drains already")


# %% wrong_engine_drain_wakes_nobody_with_readers, of right_engine_plain
# WRONG: an idle `run` is not woken by `drain` while a reader still has unread tokens
#           self.draining = True
# -         self.wake.set()
# +         if not self.queues:
# +             self.wake.set()


# %% wrong_engine_drain_waits_for_readers, of right_engine_plain
# WRONG: `run` returns only after every reader has read to its end
# -                 if self.draining:
# -                     return
# +                 if self.draining and not self.queues:
# +                     return
# ...
#               del self.queues[request_id]
# +             if self.draining:
# +                 self.wake.set()


# %% wrong_engine_drain_forgets_the_only_one, of right_engine_plain
# WRONG: `drain` forgets an open request that is the only one
#           self.draining = True
# +         if len(self.queues) == 1:
# +             self.forget(*self.queues)


# %% wrong_engine_drains_all_engines, of right_engine_plain
# WRONG: `drain` sets the flag in the class: all engines drain
# - class AsyncEngine:
# + class AsyncEngine:
# +     draining = False
# +
# ...
# -         self.draining = False
# ...
# -         self.draining = True
# +         AsyncEngine.draining = True
