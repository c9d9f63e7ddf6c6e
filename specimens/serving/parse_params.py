# Versions of parse_params, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_parse_params_plain
# RIGHT: field by field; most of the wrong versions are edits of it
def parse_params(body, *, chat, room):
    def bad(name, rule):
        raise RequestError(f"{name} must be {rule}, got {body.get(name)!r}", param=name)

    def number(name, default, low, high, whole=True):
        value = body.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            bad(name, "a whole number" if whole else "a number")
        if not low <= value <= high:
            bad(name, f"between {low} and {high}")
        return value

    def flag(name):
        value = body.get(name)
        if value is not None and not isinstance(value, bool):
            bad(name, "true or false")
        return bool(value)

    number("n", 1, 1, 1)
    name = "max_tokens"
    if chat and body.get("max_completion_tokens") is not None:
        name = "max_completion_tokens"
    max_tokens = number(name, room if chat else 16, 1, math.inf)
    if max_tokens > room or room < 1:
        raise RequestError(f"{max_tokens} tokens, and there is room for {room}", param=name, code="context_length_exceeded")
    temperature = number("temperature", 1.0, 0, 2, whole=False)
    top_p = number("top_p", 1.0, 0, 1, whole=False)
    if top_p == 0:
        bad("top_p", "above 0")
    seed = number("seed", None, -(2**63), 2**63 - 1)
    stop = body.get("stop")
    if stop is None:
        stop = ()
    else:
        if isinstance(stop, str):
            stop = [stop]
        if not isinstance(stop, list) or not 1 <= len(stop) <= 4:
            bad("stop", "a string or 1 to 4 of them")
        for one in stop:
            if not isinstance(one, str) or one == "":
                bad("stop", "strings that are not empty")
    if chat:
        best = number("top_logprobs", 0, 0, 20)
        logprobs = best if flag("logprobs") else None
    else:
        logprobs = number("logprobs", None, 0, 5)
    options = body.get("stream_options")
    usage = False
    if options is not None:
        if not isinstance(options, dict):
            bad("stream_options", "an object")
        usage = options.get("include_usage")
        if usage is not None and not isinstance(usage, bool):
            bad("stream_options", "an object with include_usage true or false")
    return SamplingParams(
        max_tokens=max_tokens,
        temperature=temperature,
        top_p=top_p,
        seed=seed,
        stop=tuple(stop),
        logprobs=logprobs,
        stream=flag("stream"),
        include_usage=bool(usage),
    )


# %% right_parse_params_table
# RIGHT: a table of rules; null is dropped first; floats are made of numbers
def parse_params(body, *, chat, room):
    given = {name: value for name, value in body.items() if value is not None}
    limit = "max_completion_tokens" if chat and "max_completion_tokens" in given else "max_tokens"
    whole = lambda low, high: lambda v: type(v) is int and low <= v <= high
    real = lambda low, high: lambda v: type(v) in (int, float) and low <= v <= high
    is_text = lambda v: type(v) is str and len(v) > 0
    rules = {
        "n": whole(1, 1),
        limit: whole(1, 10**30),
        "temperature": real(0, 2),
        "top_p": lambda v: real(0, 1)(v) and v > 0,
        "seed": whole(-(2**63), 2**63 - 1),
        "stop": lambda v: is_text(v) or (type(v) is list and 0 < len(v) < 5 and all(map(is_text, v))),
        "logprobs": (lambda v: type(v) is bool) if chat else whole(0, 5),
        "stream": lambda v: type(v) is bool,
        "stream_options": lambda v: type(v) is dict and type(v.get("include_usage")) in (bool, type(None)),
    }
    if chat:
        rules["top_logprobs"] = whole(0, 20)
    for name, holds in rules.items():
        if name in given and not holds(given[name]):
            raise RequestError(f"{name} is wrong: {given[name]!r}", param=name)
    tokens = given.get(limit, room if chat else 16)
    if tokens > room or tokens < 1:
        raise RequestError("too long for the context", status=400, param=limit, code="context_length_exceeded")
    stop = given.get("stop", [])
    if chat:
        logprobs = given.get("top_logprobs", 0) if given.get("logprobs", False) else None
    else:
        logprobs = given.get("logprobs")
    return SamplingParams(
        tokens, float(given.get("temperature", 1)), float(given.get("top_p", 1)), given.get("seed"),
        (stop,) if isinstance(stop, str) else tuple(stop), logprobs, given.get("stream", False),
        bool(given.get("stream_options", {}).get("include_usage")),
    )


# %% right_parse_params_raises_late
# RIGHT: first everything that is at fault is found, then the first is raised
def parse_params(body, *, chat, room):
    faults = []

    def check(name, ok):
        if not ok:
            faults.append((name, None))

    def is_int(x):
        return isinstance(x, int) and x is not True and x is not False

    def get(name, default=None):
        found = body.get(name, default)
        return default if found is None else found

    n, temperature, top_p, seed = get("n", 1), get("temperature", 1.0), get("top_p", 1.0), get("seed")
    check("n", is_int(n) and n == 1)
    check("temperature", (is_int(temperature) or isinstance(temperature, float)) and 0 <= temperature <= 2)
    check("top_p", (is_int(top_p) or isinstance(top_p, float)) and 0 < top_p <= 1)
    check("seed", seed is None or is_int(seed) and -(2**63) <= seed <= 2**63 - 1)
    stop = get("stop", ())
    stops = (stop,) if isinstance(stop, str) else stop
    good = isinstance(stops, (list, tuple)) and len(stops) <= 4 and all(isinstance(s, str) and s for s in stops)
    check("stop", good and (len(stops) >= 1 or body.get("stop") is None))
    logprobs = get("logprobs")
    if chat:
        top = get("top_logprobs", 0)
        check("logprobs", logprobs in (None,) or isinstance(logprobs, bool))
        check("top_logprobs", is_int(top) and 0 <= top <= 20)
        logprobs = top if logprobs else None
    else:
        check("logprobs", logprobs is None or is_int(logprobs) and 0 <= logprobs <= 5)
    check("stream", isinstance(get("stream", False), bool))
    options = get("stream_options", {})
    check("stream_options", isinstance(options, dict) and type(options.get("include_usage", None)) in (bool, type(None)))
    name = "max_completion_tokens" if chat and body.get("max_completion_tokens") is not None else "max_tokens"
    tokens = get(name, room if chat else 16)
    if not is_int(tokens) or (tokens < 1 and body.get(name) is not None and room >= 1):
        faults.append((name, None))
    elif tokens > room or room < 1:
        faults.append((name, "context_length_exceeded"))
    for param, code in faults:
        raise RequestError(f"{param} cannot be {body.get(param)!r}", param=param, code=code)
    return SamplingParams(tokens, temperature, top_p, seed, tuple(stops), logprobs, get("stream", False), bool(options.get("include_usage")))


# %% right_parse_params_few_words, of right_parse_params_plain
# RIGHT: the message does not say what was given: `param` names the field, and the words are the writer's own
# -         raise RequestError(f"{name} must be {rule}, got {body.get(name)!r}", param=name)
# +         raise RequestError("a field of this request is wrong", param=name)


# %% wrong_parse_params_or_temperature, of right_parse_params_plain
# WRONG: temperature 0 is taken for missing
# -     temperature = number("temperature", 1.0, 0, 2, whole=False)
# +     temperature = number("temperature", 1.0, 0, 2, whole=False) or 1.0


# %% wrong_parse_params_or_logprobs, of right_parse_params_plain
# WRONG: logprobs 0 is taken for missing
# -         logprobs = number("logprobs", None, 0, 5)
# +         logprobs = number("logprobs", None, 0, 5) or None


# %% wrong_parse_params_or_seed, of right_parse_params_plain
# WRONG: seed 0 is taken for missing
# -     seed = number("seed", None, -(2**63), 2**63 - 1)
# +     seed = number("seed", None, -(2**63), 2**63 - 1) or None


# %% wrong_parse_params_stop_letters, of right_parse_params_plain
# WRONG: a stop string is taken for the list of its letters
# -             stop = [stop]
# +             stop = list(stop)


# %% wrong_parse_params_stop_list_kept, of right_parse_params_plain
# WRONG: stop stays a list
# -         stop=tuple(stop),
# +         stop=stop,


# %% wrong_parse_params_empty_stop, of right_parse_params_plain
# WRONG: an empty stop string is taken
# -             if not isinstance(one, str) or one == "":
# +             if not isinstance(one, str):


# %% wrong_parse_params_no_stop_at_all, of right_parse_params_plain
# WRONG: an empty list of stop strings is taken
# -         if not isinstance(stop, list) or not 1 <= len(stop) <= 4:
# +         if not isinstance(stop, list) or not len(stop) <= 4:


# %% wrong_parse_params_five_stops, of right_parse_params_plain
# WRONG: five stop strings are taken
# -         if not isinstance(stop, list) or not 1 <= len(stop) <= 4:
# +         if not isinstance(stop, list) or not 1 <= len(stop) <= 5:


# %% wrong_parse_params_three_stops, of right_parse_params_plain
# WRONG: four stop strings are refused
# -         if not isinstance(stop, list) or not 1 <= len(stop) <= 4:
# +         if not isinstance(stop, list) or not 1 <= len(stop) < 4:


# %% wrong_parse_params_falsy_stop, of right_parse_params_plain
# WRONG: what is false in Python is no stop string: 0 and the empty string are taken
# -     if stop is None:
# +     if not stop:


# %% wrong_parse_params_stop_of_numbers, of right_parse_params_plain
# WRONG: a list of anything is taken for stop strings
# -             if not isinstance(one, str) or one == "":
# +             if one == "":


# %% wrong_parse_params_room_forgotten, of right_parse_params_plain
# WRONG: max_tokens may be more than there is room for
# -     if max_tokens > room or room < 1:
# +     if room < 1:


# %% wrong_parse_params_room_or_equal, of right_parse_params_plain
# WRONG: as many tokens as there is room for are refused
# -     if max_tokens > room or room < 1:
# +     if max_tokens >= room or room < 1:


# %% wrong_parse_params_room_cuts, of right_parse_params_plain
# WRONG: too many tokens are cut and not refused
# -     if max_tokens > room or room < 1:
# +     max_tokens = min(max_tokens, room)
# +     if room < 1:


# %% wrong_parse_params_no_room_is_wrong_number, of right_parse_params_plain
# WRONG: where there is no room the default itself is refused, without the code
# -     max_tokens = number(name, room if chat else 16, 1, math.inf)
# +     max_tokens = number(name, room if chat else 16, 1, math.inf)
# +     if max_tokens < 1:
# +         bad(name, "at least 1")


# %% wrong_parse_params_no_code, of right_parse_params_plain
# WRONG: the code of what is too long is missing
#       if max_tokens > room or room < 1:
# -         raise RequestError(f"{max_tokens} tokens, and there is room for {room}", param=name, code="context_length_exceeded")
# +         raise RequestError(f"{max_tokens} tokens, and there is room for {room}", param=name)


# %% wrong_parse_params_bool_is_number, of right_parse_params_plain
# WRONG: a bool is taken for a number
# -         if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
# +         if not isinstance(value, int if whole else (int, float)):


# %% wrong_parse_params_whole_floats, of right_parse_params_plain
# WRONG: 2.0 is taken for a whole number
# -         if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
# +         if isinstance(value, bool) or not isinstance(value, (int, float)) or (whole and value != int(value)):


# %% wrong_parse_params_text_numbers, of right_parse_params_plain
# WRONG: numbers in quotes are taken
# -         if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
# +         if isinstance(value, str) and value.strip("-").isdigit():
# +             value = int(value)
# +         if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):


# %% wrong_parse_params_nan, of right_parse_params_plain
# WRONG: NaN is in every range
# -         if not low <= value <= high:
# +         if value < low or value > high:


# %% wrong_parse_params_top_p_zero, of right_parse_params_plain
# WRONG: top_p 0 is taken
# -     if top_p == 0:
# -         bad("top_p", "above 0")


# %% wrong_parse_params_top_p_one, of right_parse_params_plain
# WRONG: top_p 1 is refused
# -     if top_p == 0:
# +     if top_p == 0 or (top_p == 1 and body.get("top_p") is not None):


# %% wrong_parse_params_temperature_to_one, of right_parse_params_plain
# WRONG: temperatures above 1 are refused
# -     temperature = number("temperature", 1.0, 0, 2, whole=False)
# +     temperature = number("temperature", 1.0, 0, 1, whole=False)


# %% wrong_parse_params_temperature_zero_refused, of right_parse_params_plain
# WRONG: temperature 0 is refused
# -     temperature = number("temperature", 1.0, 0, 2, whole=False)
# +     temperature = number("temperature", 1.0, 0, 2, whole=False)
# +     if temperature == 0:
# +         bad("temperature", "above 0")


# %% wrong_parse_params_n_ignored, of right_parse_params_plain
# WRONG: n is not looked at
# -     number("n", 1, 1, 1)


# %% wrong_parse_params_n_many, of right_parse_params_plain
# WRONG: any number of answers is taken
# -     number("n", 1, 1, 1)
# +     number("n", 1, 1, math.inf)


# %% wrong_parse_params_default_in_chat, of right_parse_params_plain
# WRONG: the default of a chat is 16 too
# -     max_tokens = number(name, room if chat else 16, 1, math.inf)
# +     max_tokens = number(name, 16, 1, math.inf)


# %% wrong_parse_params_default_of_completions, of right_parse_params_plain
# WRONG: the default of a completion is the room
# -     max_tokens = number(name, room if chat else 16, 1, math.inf)
# +     max_tokens = number(name, room, 1, math.inf)


# %% wrong_parse_params_default_cut, of right_parse_params_plain
# WRONG: the default is cut to the room and not refused
# -     max_tokens = number(name, room if chat else 16, 1, math.inf)
# +     max_tokens = number(name, room if chat else min(16, room), 1, math.inf)


# %% wrong_parse_params_zero_tokens, of right_parse_params_plain
# WRONG: no token at all is taken
# -     max_tokens = number(name, room if chat else 16, 1, math.inf)
# +     max_tokens = number(name, room if chat else 16, 0, math.inf)


# %% wrong_parse_params_completion_tokens_everywhere, of right_parse_params_plain
# WRONG: max_completion_tokens counts in completions too
# -     if chat and body.get("max_completion_tokens") is not None:
# +     if body.get("max_completion_tokens") is not None:


# %% wrong_parse_params_completion_tokens_behind, of right_parse_params_plain
# WRONG: max_tokens goes before max_completion_tokens
# -     if chat and body.get("max_completion_tokens") is not None:
# +     if chat and body.get("max_completion_tokens") is not None and body.get("max_tokens") is None:


# %% wrong_parse_params_older_name_checked, of right_parse_params_plain
# WRONG: max_tokens is checked even where max_completion_tokens counts
#       if chat and body.get("max_completion_tokens") is not None:
# +         number("max_tokens", 1, 1, math.inf)


# %% wrong_parse_params_completion_tokens_null, of right_parse_params_plain
# WRONG: max_completion_tokens null hides max_tokens
# -     if chat and body.get("max_completion_tokens") is not None:
# +     if chat and "max_completion_tokens" in body:


# %% wrong_parse_params_param_is_max_tokens, of right_parse_params_plain
# WRONG: the error names max_tokens where max_completion_tokens is at fault
# -         raise RequestError(f"{max_tokens} tokens, and there is room for {room}", param=name, code="context_length_exceeded")
# +         raise RequestError(f"{max_tokens} tokens, and there is room for {room}", param="max_tokens", code="context_length_exceeded")


# %% wrong_parse_params_no_param, of right_parse_params_plain
# WRONG: the error names no field
# -         raise RequestError(f"{name} must be {rule}, got {body.get(name)!r}", param=name)
# +         raise RequestError(f"{name} must be {rule}, got {body.get(name)!r}")


# %% wrong_parse_params_value_error, of right_parse_params_plain
# WRONG: another exception
# -         raise RequestError(f"{name} must be {rule}, got {body.get(name)!r}", param=name)
# +         raise ValueError(f"{name} must be {rule}, got {body.get(name)!r}")


# %% wrong_parse_params_status_422, of right_parse_params_plain
# WRONG: status 422
# -         raise RequestError(f"{name} must be {rule}, got {body.get(name)!r}", param=name)
# +         raise RequestError(f"{name} must be {rule}, got {body.get(name)!r}", param=name, status=422)


# %% wrong_parse_params_code_everywhere, of right_parse_params_plain
# WRONG: every refusal has a code
# -         raise RequestError(f"{name} must be {rule}, got {body.get(name)!r}", param=name)
# +         raise RequestError(f"{name} must be {rule}, got {body.get(name)!r}", param=name, code="invalid_value")


# %% wrong_parse_params_chat_logprobs_true, of right_parse_params_plain
# WRONG: in a chat logprobs is true itself and not a number
# -         logprobs = best if flag("logprobs") else None
# +         logprobs = flag("logprobs") or None


# %% wrong_parse_params_chat_logprobs_default, of right_parse_params_plain
# WRONG: logprobs true without top_logprobs is one of them
# -         best = number("top_logprobs", 0, 0, 20)
# +         best = number("top_logprobs", 1, 0, 20)


# %% wrong_parse_params_top_logprobs_alone, of right_parse_params_plain
# WRONG: top_logprobs counts without logprobs
# -         logprobs = best if flag("logprobs") else None
# +         logprobs = best if flag("logprobs") or best else None


# %% wrong_parse_params_top_logprobs_if_wanted, of right_parse_params_plain
# WRONG: top_logprobs is looked at only where logprobs is true
# -         best = number("top_logprobs", 0, 0, 20)
# -         logprobs = best if flag("logprobs") else None
# +         logprobs = number("top_logprobs", 0, 0, 20) if flag("logprobs") else None


# %% wrong_parse_params_top_logprobs_of_a_completion, of right_parse_params_plain
# WRONG: top_logprobs is checked in a completion, too, where it is an unknown field
# -     if chat:
# -         best = number("top_logprobs", 0, 0, 20)
# +     best = number("top_logprobs", 0, 0, 20)
# +     if chat:


# %% wrong_parse_params_top_logprobs_5, of right_parse_params_plain
# WRONG: a chat has the limit of completions
# -         best = number("top_logprobs", 0, 0, 20)
# +         best = number("top_logprobs", 0, 0, 5)


# %% wrong_parse_params_logprobs_20, of right_parse_params_plain
# WRONG: completions have the limit of a chat
# -         logprobs = number("logprobs", None, 0, 5)
# +         logprobs = number("logprobs", None, 0, 20)


# %% wrong_parse_params_flag_truthy, of right_parse_params_plain
# WRONG: anything true in Python is true
# -         if value is not None and not isinstance(value, bool):
# -             bad(name, "true or false")


# %% wrong_parse_params_stream_forgotten, of right_parse_params_plain
# WRONG: stream is not passed on
# -         stream=flag("stream"),
# +         stream=False,


# %% wrong_parse_params_usage_with_stream_only, of right_parse_params_plain
# WRONG: include_usage is taken from the body and not from stream_options
# -         include_usage=bool(usage),
# +         include_usage=bool(body.get("include_usage")),


# %% wrong_parse_params_usage_where_options, of right_parse_params_plain
# WRONG: stream_options alone means include_usage
# -         include_usage=bool(usage),
# +         include_usage=options is not None,


# %% wrong_parse_params_usage_any, of right_parse_params_plain
# WRONG: include_usage may be anything
# -         if usage is not None and not isinstance(usage, bool):
# -             bad("stream_options", "an object with include_usage true or false")


# %% wrong_parse_params_usage_falsy, of right_parse_params_plain
# WRONG: an include_usage of 0 or "" is taken for false
# -         if usage is not None and not isinstance(usage, bool):
# +         if usage and not isinstance(usage, bool):

# %% wrong_parse_params_options_any, of right_parse_params_plain
# WRONG: stream_options that is no object is passed over
# -         if not isinstance(options, dict):
# -             bad("stream_options", "an object")
# -         usage = options.get("include_usage")
# +         usage = options.get("include_usage") if isinstance(options, dict) else None


# %% wrong_parse_params_unknown_refused, of right_parse_params_plain
# WRONG: unknown fields are refused
# -     number("n", 1, 1, 1)
# +     number("n", 1, 1, 1)
# +     for name in body.keys() - {"n", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop", "logprobs", "top_logprobs", "stream", "stream_options"}:
# +         bad(name, "left out")


# %% wrong_parse_params_seed_unsigned, of right_parse_params_plain
# WRONG: negative seeds are refused
# -     seed = number("seed", None, -(2**63), 2**63 - 1)
# +     seed = number("seed", None, 0, 2**63 - 1)


# %% wrong_parse_params_seed_of_two_to_the_63, of right_parse_params_plain
# WRONG: a seed of 2**63 is accepted, one more than the largest number of 64 bits
# -     seed = number("seed", None, -(2**63), 2**63 - 1)
# +     seed = number("seed", None, -(2**63), 2**63)


# %% wrong_parse_params_seed_any_size, of right_parse_params_plain
# WRONG: a seed may have any size
# -     seed = number("seed", None, -(2**63), 2**63 - 1)
# +     seed = number("seed", None, -math.inf, math.inf)


# %% wrong_parse_params_seed_default, of right_parse_params_plain
# WRONG: without a seed it is 0
# -     seed = number("seed", None, -(2**63), 2**63 - 1)
# +     seed = number("seed", 0, -(2**63), 2**63 - 1)


# %% wrong_parse_params_null_refused, of right_parse_params_plain
# WRONG: null is not taken for missing
# -         value = body.get(name)
# -         if value is None:
# +         value = body.get(name, default)
# +         if name not in body:
#               return default


# %% wrong_parse_params_body_changed, of right_parse_params_plain
# WRONG: the stop strings are taken out of the body
# -     stop = body.get("stop")
# +     stop = body.pop("stop", None)


# %% wrong_parse_params_stop_wrapped_in_the_body, of right_parse_params_plain
# WRONG: the list of the one stop string is written into the client's body
# -             stop = [stop]
# +             stop = body["stop"] = [stop]


# %% wrong_parse_params_defaults_written, of right_parse_params_plain
# WRONG: the defaults are written into the client's body
# -         if value is None:
# -             return default
# +         if value is None:
# +             body[name] = default
# +             return default


# %% wrong_parse_params_usage_written, of right_parse_params_plain
# WRONG: include_usage is written into the client's stream_options
# -         usage = options.get("include_usage")
# +         usage = options.setdefault("include_usage", False)


# %% wrong_parse_params_stop_grows, of right_parse_params_plain
# WRONG: the client's list becomes empty
# -         stop=tuple(stop),
# +         stop=tuple(stop.pop(0) for _ in range(len(stop))),


# %% wrong_parse_params_top_p_swapped, of right_parse_params_plain
# WRONG: temperature and top_p are exchanged
# -         temperature=temperature,
# -         top_p=top_p,
# +         temperature=top_p,
# +         top_p=temperature,


# %% wrong_parse_params_infinite_numbers, of right_parse_params_plain
# WRONG: a number is made a float first: one beyond 1e308 raises OverflowError and not RequestError
# -         if not low <= value <= high:
# +         if not low <= (value if whole else float(value)) <= high:


# %% wrong_parse_params_nearly_greedy, of right_parse_params_plain
# WRONG: a temperature below 0.01 is taken for 0
# -         temperature=temperature,
# +         temperature=temperature if temperature >= 0.01 else 0.0,


# %% wrong_parse_params_long_stops_cut, of right_parse_params_plain
# WRONG: a stop string is cut at 64 characters
# -         stop=tuple(stop),
# +         stop=tuple(each[:64] for each in stop),


# %% wrong_parse_params_equal_stops_once, of right_parse_params_plain
# WRONG: of equal stop strings only the first stays
# -         stop=tuple(stop),
# +         stop=tuple(dict.fromkeys(stop)),


# %% wrong_parse_params_stops_sorted, of right_parse_params_plain
# WRONG: stop strings are sorted
# -         stop=tuple(stop),
# +         stop=tuple(sorted(stop)),


# %% wrong_parse_params_8192_tokens, of right_parse_params_plain
# WRONG: more than 8,192 tokens are refused, however much room there is
# -     if max_tokens > room or room < 1:
# +     if max_tokens > min(room, 8192) or room < 1:


# %% wrong_parse_params_or_everywhere, of right_parse_params_plain
# WRONG: `value or default`: 0 is taken for missing, in every number
# SAYS: 0 is a value, and `value or default` takes it for a missing one: compare with None.
#           value = body.get(name)
# -         if value is None:
# -             return default
# +         if not value and not isinstance(value, bool):
# +             return default
#           if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):


# %% wrong_parse_params_blank_stop, of right_parse_params_plain
# WRONG: a stop string of white space alone is refused as if it were empty
# -             if not isinstance(one, str) or one == "":
# +             if not isinstance(one, str) or not one.strip():
