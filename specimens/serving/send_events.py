# Versions of send_events, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_events_plain
# RIGHT: two tasks; most of the wrong versions are edits of it
async def send_events(receive, send, events):
    async def answer():
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for event in events:
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def listen():
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return

    sending = asyncio.create_task(answer())
    listening = asyncio.create_task(listen())
    try:
        await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        sending.cancel()
        listening.cancel()
        await asyncio.gather(sending, listening, return_exceptions=True)
        await events.aclose()
    if not sending.cancelled():
        sending.result()


# %% right_events_group
# RIGHT: the answer in this task, the listener cancels it
async def send_events(receive, send, events):
    me, gone = asyncio.current_task(), False

    async def listen():
        nonlocal gone
        while (await receive()).get("type") != "http.disconnect":
            continue
        gone = True
        body.cancel()

    async def stream():
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache, no-transform")]})
        async for event in events:
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body"})

    body = asyncio.create_task(stream())
    listener = asyncio.create_task(listen())
    try:
        await body
    except asyncio.CancelledError:
        if not gone:
            body.cancel()
            raise
    finally:
        listener.cancel()
        await asyncio.wait([body, listener])
        await events.aclose()


# %% right_events_closing, of right_events_plain
# RIGHT: the generator is closed by aclosing, which the day's setup cell imports
# -     try:
# -         await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
# -     finally:
# -         sending.cancel()
# -         listening.cancel()
# -         await asyncio.gather(sending, listening, return_exceptions=True)
# -         await events.aclose()
# +     async with aclosing(events):
# +         try:
# +             await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
# +         finally:
# +             sending.cancel()
# +             listening.cancel()
# +             await asyncio.gather(sending, listening, return_exceptions=True)


# %% right_events_anext
# RIGHT: asks for each event in a task of its own, and waits for it or the client
async def send_events(receive, send, events):
    async def gone():
        while True:
            if (await receive())["type"] == "http.disconnect":
                return

    async def first_of(coroutine):
        """(whether it came before the client left, what it gave)"""
        task = asyncio.ensure_future(coroutine)
        try:
            await asyncio.wait([task, listener], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        if task.done():
            return True, task
        task.cancel()
        await asyncio.wait([task])
        return False, None

    async def following():
        return await anext(events, None)

    listener = asyncio.ensure_future(gone())
    try:
        message = {"type": "http.response.start", "status": 200,
                   "headers": [[b"content-type", b"text/event-stream"], [b"cache-control", b"no-cache"], [b"x-accel-buffering", b"no"]]}
        while True:
            alive, task = await first_of(send(message))
            if not alive:
                return
            task.result()
            if message.get("more_body") is False:
                return
            alive, task = await first_of(following())
            if not alive:
                return
            event = task.result()
            message = {"type": "http.response.body", "body": b"" if event is None else event, "more_body": event is not None}
    finally:
        listener.cancel()
        await asyncio.wait([listener])
        await events.aclose()


# %% wrong_events_never_listens, of right_events_plain
# WRONG: nobody listens for the client
# -         await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
# +         await asyncio.wait({sending})


# %% wrong_events_waits_for_both, of right_events_plain
# WRONG: waits for the client to leave, too
# -         await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
# +         await asyncio.wait({sending, listening})


# %% wrong_events_disconnect_waits, of right_events_plain
# WRONG: when the client has left the answer is sent to its end
# -         await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
# +         await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
# +         await asyncio.wait({sending})


# %% wrong_events_seen_at_next_send
# WRONG: a client that has left is found out before the next event only
async def send_events(receive, send, events):
    gone = False

    async def listen():
        nonlocal gone
        while (await receive())["type"] != "http.disconnect":
            pass
        gone = True

    listening = asyncio.create_task(listen())
    try:
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for event in events:
            if gone:
                return
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await events.aclose()


# %% wrong_events_receive_between
# WRONG: asks for the client between two events: it waits for a message that does not come
async def send_events(receive, send, events):
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    async for event in events:
        try:
            message = await asyncio.wait_for(receive(), 0.001)
            if message["type"] == "http.disconnect":
                await events.aclose()
                return
        except asyncio.TimeoutError:
            pass
        await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


# %% wrong_events_not_closed, of right_events_plain
# WRONG: the generator is not closed
# -         await events.aclose()


# %% wrong_events_not_cancelled, of right_events_plain
# WRONG: the answer is not cancelled
# -         sending.cancel()
# -         listening.cancel()
# -         await asyncio.gather(sending, listening, return_exceptions=True)
# -         await events.aclose()
# +         listening.cancel()


# %% wrong_events_closed_while_it_runs, of right_events_plain
# WRONG: closes the generator while somebody waits for its next event
# -         await asyncio.gather(sending, listening, return_exceptions=True)
#           await events.aclose()


# %% wrong_events_listener_left, of right_events_plain
# WRONG: the listener is left behind
# -         listening.cancel()
# -         await asyncio.gather(sending, listening, return_exceptions=True)
# +         await asyncio.gather(sending, return_exceptions=True)


# %% wrong_events_tasks_not_awaited, of right_events_plain
# WRONG: cancels and does not wait: what is being closed is still at work when it returns
# -         await asyncio.gather(sending, listening, return_exceptions=True)
# -         await events.aclose()


# %% wrong_events_any_message_is_the_end, of right_events_plain
# WRONG: any message is taken for the client's leaving
# -             if message["type"] == "http.disconnect":
# -                 return
# +             return


# %% wrong_events_only_first_message, of right_events_plain
# WRONG: only the first message is looked at
#               if message["type"] == "http.disconnect":
# -                 return
# +                 return
# +             await asyncio.Event().wait()


# %% wrong_events_another_message, of right_events_plain
# WRONG: waits for another message
# -             if message["type"] == "http.disconnect":
# +             if message["type"] == "websocket.disconnect":


# %% wrong_events_no_last_body, of right_events_plain
# WRONG: no end
# -         await send({"type": "http.response.body", "body": b"", "more_body": False})


# %% wrong_events_last_body_open, of right_events_plain
# WRONG: the end says that more comes
# -         await send({"type": "http.response.body", "body": b"", "more_body": False})
# +         await send({"type": "http.response.body", "body": b"", "more_body": True})


# %% wrong_events_more_body_false, of right_events_plain
# WRONG: every event says that it is the last
# -             await send({"type": "http.response.body", "body": event, "more_body": True})
# +             await send({"type": "http.response.body", "body": event})


# %% wrong_events_end_after_disconnect, of right_events_plain
# WRONG: the end is sent to a client that has left
# -         await events.aclose()
# +         await events.aclose()
# +         if sending.cancelled():
# +             await send({"type": "http.response.body", "body": b"", "more_body": False})


# %% wrong_events_end_after_failure, of right_events_plain
# WRONG: an answer that failed has a proper end
# -         await asyncio.gather(sending, listening, return_exceptions=True)
# +         await asyncio.gather(sending, listening, return_exceptions=True)
# +         if not sending.cancelled() and sending.exception():
# +             await send({"type": "http.response.body", "body": b"", "more_body": False})


# %% wrong_events_send_oserror_swallowed, of right_events_plain
# WRONG: an OSError of `send` is taken for the client's leaving, and not passed on
# -     if not sending.cancelled():
# +     if not sending.cancelled() and not isinstance(sending.exception(), OSError):
#           sending.result()


# %% wrong_events_send_oserror_ends, of right_events_group
# WRONG: an OSError of `send` ends the answer without a word
#       try:
#           await body
# +     except OSError:
# +         return
#       except asyncio.CancelledError:


# %% wrong_events_status_206, of right_events_plain
# WRONG: another status
# -         await send({"type": "http.response.start", "status": 200, "headers": headers})
# +         await send({"type": "http.response.start", "status": 206, "headers": headers})


# %% wrong_events_json_type, of right_events_plain
# WRONG: another content type
# -         headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
# +         headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-cache")]


# %% wrong_events_cached, of right_events_plain
# WRONG: may be cached
# -         headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
# +         headers = [(b"content-type", b"text/event-stream")]


# %% wrong_events_text_headers, of right_events_plain
# WRONG: headers are text
# -         headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
# +         headers = [("content-type", "text/event-stream"), ("cache-control", "no-cache")]


# %% wrong_events_upper_headers, of right_events_plain
# WRONG: names of headers with capitals
# -         headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
# +         headers = [(b"Content-Type", b"text/event-stream"), (b"Cache-Control", b"no-cache")]


# %% wrong_events_start_for_each, of right_events_plain
# WRONG: every event has a start of its own
# -             await send({"type": "http.response.body", "body": event, "more_body": True})
# +             await send({"type": "http.response.start", "status": 200, "headers": headers})
# +             await send({"type": "http.response.body", "body": event, "more_body": True})


# %% wrong_events_no_start, of right_events_plain
# WRONG: no start
# -         await send({"type": "http.response.start", "status": 200, "headers": headers})


# %% wrong_events_start_with_first
# WRONG: the start comes with the first event
async def send_events(receive, send, events):
    async def answer():
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
        started = False
        async for event in events:
            if not started:
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                started = True
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def listen():
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return

    sending = asyncio.create_task(answer())
    listening = asyncio.create_task(listen())
    try:
        await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        sending.cancel()
        listening.cancel()
        await asyncio.gather(sending, listening, return_exceptions=True)
        await events.aclose()
    if not sending.cancelled():
        sending.result()


# %% wrong_events_collected, of right_events_plain
# WRONG: all events in one body
# -         async for event in events:
# -             await send({"type": "http.response.body", "body": event, "more_body": True})
# +         body = b"".join([event async for event in events])
# +         await send({"type": "http.response.body", "body": body, "more_body": True})


# %% wrong_events_collected_first, of right_events_plain
# WRONG: all events are made before the first is sent
# -         async for event in events:
# +         for event in [event async for event in events]:


# %% wrong_events_one_behind, of right_events_plain
# WRONG: every event is sent when the next one is there
# -         async for event in events:
# -             await send({"type": "http.response.body", "body": event, "more_body": True})
# +         last = None
# +         async for event in events:
# +             if last is not None:
# +                 await send({"type": "http.response.body", "body": last, "more_body": True})
# +             last = event
# +         if last is not None:
# +             await send({"type": "http.response.body", "body": last, "more_body": True})


# %% wrong_events_each_byte, of right_events_plain
# WRONG: an event in many bodies
# -             await send({"type": "http.response.body", "body": event, "more_body": True})
# +             for i in range(0, len(event), 4):
# +                 await send({"type": "http.response.body", "body": event[i : i + 4], "more_body": True})


# %% wrong_events_wrapped_again, of right_events_plain
# WRONG: every event is made an event again
# -             await send({"type": "http.response.body", "body": event, "more_body": True})
# +             await send({"type": "http.response.body", "body": sse_event(event.decode()), "more_body": True})


# %% wrong_events_sends_unawaited, of right_events_plain
# WRONG: sending is not waited for
# -             await send({"type": "http.response.body", "body": event, "more_body": True})
# +             asyncio.ensure_future(send({"type": "http.response.body", "body": event, "more_body": True}))


# %% wrong_events_failure_swallowed, of right_events_plain
# WRONG: an exception of the events or of send is not passed on
# -     if not sending.cancelled():
# -         sending.result()


# %% wrong_events_failure_of_send_swallowed, of right_events_plain
# WRONG: an exception of send is taken for a client that has left
# -             await send({"type": "http.response.body", "body": event, "more_body": True})
# +             try:
# +                 await send({"type": "http.response.body", "body": event, "more_body": True})
# +             except Exception:
# +                 return


# %% wrong_events_cancellation_swallowed, of right_events_plain
# WRONG: an answer that is cancelled returns as if nothing had been
# -     finally:
# +     except asyncio.CancelledError:
# +         pass
# +     finally:
#           sending.cancel()


# %% wrong_events_cancel_forgets
# WRONG: an answer that is cancelled leaves its tasks behind
async def send_events(receive, send, events):
    async def answer():
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for event in events:
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def listen():
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return

    sending = asyncio.create_task(answer())
    listening = asyncio.create_task(listen())
    if True:
        await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
    if True:
        sending.cancel()
        listening.cancel()
        await asyncio.gather(sending, listening, return_exceptions=True)
        await events.aclose()
    if not sending.cancelled():
        sending.result()


# %% wrong_events_disconnect_raises, of right_events_plain
# WRONG: a client that leaves is an exception
# -     if not sending.cancelled():
# -         sending.result()
# +     await sending


# %% wrong_events_no_pause, of right_events_plain
# WRONG: a pause after every event
# -             await send({"type": "http.response.body", "body": event, "more_body": True})
# +             await send({"type": "http.response.body", "body": event, "more_body": True})
# +             await asyncio.sleep(0.01)


# %% wrong_events_receives_first, of right_events_plain
# WRONG: waits for a message before it begins
# -     sending = asyncio.create_task(answer())
# +     if (await receive())["type"] == "http.disconnect":
# +         return
# +     sending = asyncio.create_task(answer())


# %% wrong_events_closed_for_the_client_only, of right_events_plain
# WRONG: the generator is closed only where the client has left
# -         await events.aclose()
# +         if listening.done() and not listening.cancelled():
# +             await events.aclose()


# %% wrong_events_text_bodies, of right_events_plain
# WRONG: bodies are text
# -             await send({"type": "http.response.body", "body": event, "more_body": True})
# +             await send({"type": "http.response.body", "body": event.decode(), "more_body": True})


# %% wrong_events_another_exception, of right_events_plain
# WRONG: what goes wrong is passed on as another exception
# -     if not sending.cancelled():
# -         sending.result()
# +     if not sending.cancelled() and sending.exception():
# +         raise RuntimeError("the answer failed")


# %% wrong_events_patience, of right_events_plain
# WRONG: an answer that takes longer than a minute is broken off
# -         await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
# +         await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED, timeout=60)


# %% wrong_events_body_end_is_the_end, of right_events_plain
# WRONG: a body that has come to its end is taken for the client's leaving
# -             if message["type"] == "http.disconnect":
# +             if message["type"] == "http.disconnect" or message.get("more_body") is False:


# %% wrong_events_polls_client, of right_events_plain
# WRONG: looks for the client every 100 ms
# -         await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
# +         while not sending.done() and not listening.done():
# +             await asyncio.sleep(0.1)


# %% wrong_events_closed_in_a_task, of right_events_plain
# WRONG: where an answer is cancelled or fails the generator is closed in a task that nobody awaits
#           await asyncio.gather(sending, listening, return_exceptions=True)
# -         await events.aclose()
# +         if sending.cancelled() and listening.done() and not listening.cancelled():
# +             await events.aclose()
# +         else:
# +             self_closing = asyncio.ensure_future(events.aclose())


# %% wrong_events_eight_messages, of right_events_plain
# WRONG: after eight other messages it listens no more
# -         while True:
# +         for _ in range(8):
#               message = await receive()
#               if message["type"] == "http.disconnect":
#                   return
# +         await asyncio.Event().wait()


# %% wrong_events_first_message_is_the_end, of right_events_plain
# WRONG: any message but http.request is taken for a disconnect
# -             if message["type"] == "http.disconnect":
# +             if message["type"] != "http.request":


# %% wrong_events_equal_events_once, of right_events_plain
# WRONG: an event that equals the one before it is not sent
# -         async for event in events:
# +         last = None
# +         async for event in events:
# +             if event == last:
# +                 continue
# +             last = event


# %% wrong_events_hundred, of right_events_plain
# WRONG: after a hundred events the answer ends
# -         async for event in events:
# +         count = 0
# +         async for event in events:
# +             count += 1
# +             if count > 100:
# +                 break


# %% wrong_events_listener_not_awaited, of right_events_plain
# WRONG: the listener is cancelled last and not awaited: it is still there when the function returns
# -         listening.cancel()
# -         await asyncio.gather(sending, listening, return_exceptions=True)
# -         await events.aclose()
# +         await asyncio.gather(sending, return_exceptions=True)
# +         await events.aclose()
# +         listening.cancel()
