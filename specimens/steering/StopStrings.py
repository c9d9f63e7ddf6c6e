# Versions of StopStrings, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_stop_plain
# RIGHT: step by step; most of the wrong versions are edits of it

class StopStrings:
    def __init__(self, stops):
        if "" in stops:
            raise ValueError(f"a stop string must not be empty, got {list(stops)}")
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text):
        if self.stopped:
            return "", True
        text = self.held + text
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            self.held, self.stopped = "", True
            return text[: min(found)[1]], True
        cut = 0
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self):
        held, self.held = self.held, ""
        return held


# %% right_stop_prefix_function
# RIGHT: Knuth-Morris-Pratt, one state for each stop

class StopStrings:
    def __init__(self, stops):
        if any(not s for s in stops):
            raise ValueError("an empty stop")
        self.stops = list(stops)
        self.fail = []
        for s in self.stops:
            f = [0] * len(s)
            k = 0
            for i in range(1, len(s)):
                while k and s[i] != s[k]:
                    k = f[k - 1]
                k += s[i] == s[k]
                f[i] = k
            self.fail.append(f)
        self.state = [0] * len(self.stops)
        self.held = ""
        self.over = False

    def push(self, text):
        if self.over:
            return "", True
        emit = ""
        for c in text:
            self.held += c
            for i, s in enumerate(self.stops):
                k = self.state[i]
                while k and s[k] != c:
                    k = self.fail[i][k - 1]
                self.state[i] = k + (s[k] == c)
            full = [len(s) for s, k in zip(self.stops, self.state) if k == len(s)]
            if full:
                self.over = True
                emit += self.held[: len(self.held) - max(full)]
                self.held = ""
                return emit, True
            keep = max(self.state, default=0)
            emit += self.held[: len(self.held) - keep]
            self.held = self.held[len(self.held) - keep :]
        return emit, False

    def flush(self):
        held, self.held = self.held, ""
        return held


# %% right_stop_character_by_character
# RIGHT: one character at a time; the held text is given out from its front until what is left begins a stop

class StopStrings:
    def __init__(self, stops):
        if any(not s for s in stops):
            raise ValueError("an empty stop")
        self.stops, self.buffer, self.done = list(stops), "", False

    def push(self, text):
        out = []
        for c in text:
            if self.done:
                break
            self.buffer += c
            complete = [s for s in self.stops if self.buffer.endswith(s)]
            if complete:
                out.append(self.buffer[: len(self.buffer) - max(map(len, complete))])
                self.buffer, self.done = "", True
                break
            while self.buffer and not any(s.startswith(self.buffer) for s in self.stops):
                out.append(self.buffer[0])
                self.buffer = self.buffer[1:]
        return "".join(out), self.done

    def flush(self):
        rest, self.buffer = self.buffer, ""
        return rest


# %% right_stop_every_end
# RIGHT: looks at every place where a stop may end, from left to right; of those that end there the longest

class StopStrings:
    def __init__(self, stops):
        if not all(stops):
            raise ValueError("empty stop")
        self.stops, self.held, self.over = sorted(stops, key=len, reverse=True), "", False

    def push(self, text):
        if self.over:
            return "", True
        text = self.held + text
        for end in range(1, len(text) + 1):
            for stop in self.stops:
                if text[:end].endswith(stop):
                    self.held, self.over = "", True
                    return text[: end - len(stop)], True
        keep = max((n for stop in self.stops for n in range(1, min(len(stop), len(text) + 1)) if text.endswith(stop[:n])), default=0)
        self.held = text[len(text) - keep :]
        return text[: len(text) - keep], False

    def flush(self):
        held, self.held = self.held, ""
        return held


# %% wrong_StopStrings_inner_missed
# WRONG: while a longer beginning is open, a shorter stop inside is missed (only prefix matches of held compared)
class StopStrings:
    def __init__(self, stops):
        if "" in stops:
            raise ValueError("empty")
        self.stops, self.held, self.stopped = tuple(stops), "", False
    def push(self, text):
        out = ""
        for ch in text:
            if self.stopped:
                break
            self.held += ch
            while self.held and not any(s.startswith(self.held) for s in self.stops):
                out, self.held = out + self.held[0], self.held[1:]
            if self.held in self.stops:
                self.held, self.stopped = "", True
        return out, self.stopped
    def flush(self):
        held, self.held = self.held, ""
        return held


# %% wrong_StopStrings_limit16
# WRONG: beginnings longer than 16 characters are let through
class StopStrings:
    def __init__(self, stops: Sequence[str]) -> None:
        if "" in stops:
            raise ValueError(f"a stop string must not be empty, got {list(stops)}")
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text: str) -> tuple[str, bool]:
        if self.stopped:
            return "", True
        text = self.held + text
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            _, start = min(found)  # complete first; of those, begun first
            self.held, self.stopped = "", True
            return text[:start], True
        cut = max(0, len(text) - 16)  # the whole text first, then ever shorter suffixes
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        held, self.held = self.held, ""
        return held


# %% wrong_stop_begins_first
# WRONG: of the stops in the text the one that begins first wins, though another is complete before it

class StopStrings:

    def __init__(self, stops: Sequence[str]) -> None:
        if "" in stops:
            raise ValueError(f"a stop string must not be empty, got {list(stops)}")
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text: str) -> tuple[str, bool]:
        if self.stopped:
            return "", True
        text = self.held + text
        found = [(start, start + len(stop)) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            start, _ = min(found)  # complete first; of those, begun first
            self.held, self.stopped = "", True
            return text[:start], True
        cut = 0  # the whole text first, then ever shorter suffixes
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        held, self.held = self.held, ""
        return held


# %% wrong_stop_blank_refused
# WRONG: refuses stops that are a space or a line end

class StopStrings:

    def __init__(self, stops: Sequence[str]) -> None:
        if any(not stop.strip() for stop in stops):
            raise ValueError(f"a stop string must not be empty, got {list(stops)}")
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text: str) -> tuple[str, bool]:
        if self.stopped:
            return "", True
        text = self.held + text
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            _, start = min(found)  # complete first; of those, begun first
            self.held, self.stopped = "", True
            return text[:start], True
        cut = 0  # the whole text first, then ever shorter suffixes
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        held, self.held = self.held, ""
        return held


# %% wrong_stop_empty_allowed
# WRONG: an empty stop is not refused

class StopStrings:

    def __init__(self, stops: Sequence[str]) -> None:
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text: str) -> tuple[str, bool]:
        if self.stopped:
            return "", True
        text = self.held + text
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            _, start = min(found)  # complete first; of those, begun first
            self.held, self.stopped = "", True
            return text[:start], True
        cut = 0  # the whole text first, then ever shorter suffixes
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        held, self.held = self.held, ""
        return held


# %% wrong_stop_empty_first_only
# WRONG: an empty stop is refused only if it is the first

class StopStrings:

    def __init__(self, stops: Sequence[str]) -> None:
        if stops[0] == "":
            raise ValueError(f"a stop string must not be empty, got {list(stops)}")
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text: str) -> tuple[str, bool]:
        if self.stopped:
            return "", True
        text = self.held + text
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            _, start = min(found)  # complete first; of those, begun first
            self.held, self.stopped = "", True
            return text[:start], True
        cut = 0  # the whole text first, then ever shorter suffixes
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        held, self.held = self.held, ""
        return held


# %% wrong_stop_empty_if_alone
# WRONG: an empty stop is refused only if there is no other

class StopStrings:

    def __init__(self, stops: Sequence[str]) -> None:
        if not any(stops):
            raise ValueError(f"a stop string must not be empty, got {list(stops)}")
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text: str) -> tuple[str, bool]:
        if self.stopped:
            return "", True
        text = self.held + text
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            _, start = min(found)  # complete first; of those, begun first
            self.held, self.stopped = "", True
            return text[:start], True
        cut = 0  # the whole text first, then ever shorter suffixes
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        held, self.held = self.held, ""
        return held


# %% wrong_stop_empty_left_out
# WRONG: an empty stop is left out instead of refused

class StopStrings:

    def __init__(self, stops: Sequence[str]) -> None:
        self.stops = tuple(filter(None, stops))
        self.held = ""
        self.stopped = False

    def push(self, text: str) -> tuple[str, bool]:
        if self.stopped:
            return "", True
        text = self.held + text
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            _, start = min(found)  # complete first; of those, begun first
            self.held, self.stopped = "", True
            return text[:start], True
        cut = 0  # the whole text first, then ever shorter suffixes
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        held, self.held = self.held, ""
        return held


# %% wrong_stop_flush_keeps
# WRONG: a second flush gives the held text again

class StopStrings:

    def __init__(self, stops: Sequence[str]) -> None:
        if "" in stops:
            raise ValueError(f"a stop string must not be empty, got {list(stops)}")
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text: str) -> tuple[str, bool]:
        if self.stopped:
            return "", True
        text = self.held + text
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            _, start = min(found)  # complete first; of those, begun first
            self.held, self.stopped = "", True
            return text[:start], True
        cut = 0  # the whole text first, then ever shorter suffixes
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        return self.held


# %% wrong_stop_normalises
# WRONG: the text is normalised (NFC)

class StopStrings:

    def __init__(self, stops: Sequence[str]) -> None:
        if "" in stops:
            raise ValueError(f"a stop string must not be empty, got {list(stops)}")
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text: str) -> tuple[str, bool]:
        if self.stopped:
            return "", True
        text = __import__("unicodedata").normalize("NFC", self.held + text)
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            _, start = min(found)  # complete first; of those, begun first
            self.held, self.stopped = "", True
            return text[:start], True
        cut = 0  # the whole text first, then ever shorter suffixes
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        held, self.held = self.held, ""
        return held


# %% wrong_stop_regular_expression_leftmost
# WRONG: a search for any of the stops finds the one that begins first, not the one that is complete first

import re

class StopStrings:
    def __init__(self, stops):
        if any(not s for s in stops):
            raise ValueError("an empty stop")
        self._full = re.compile("|".join(re.escape(s) for s in stops))
        heads = sorted({s[:n] for s in stops for n in range(1, len(s))}, key=len, reverse=True)
        self._head = re.compile("(?:" + "|".join(re.escape(h) for h in heads) + r")\Z") if heads else None
        self._held, self._over = "", False

    def push(self, text):
        if self._over:
            return "", True
        text = self._held + text
        hit = self._full.search(text)
        if hit:
            self._over, self._held = True, ""
            return text[: hit.start()], True
        tail = self._head.search(text) if self._head else None
        at = tail.start() if tail else len(text)
        self._held = text[at:]
        return text[:at], False

    def flush(self):
        held, self._held = self._held, ""
        return held


# %% wrong_stop_restarts_after_mismatch
# WRONG: a matcher that starts from nothing after a mismatch

class StopStrings:
    def __init__(self, stops):
        self.stops = list(stops)
        self.held = ""
        self.stopped = False

    def push(self, text):
        emit = ""
        for c in text:
            if self.stopped:
                break
            if any(s.startswith(self.held + c) for s in self.stops):
                self.held += c
            else:
                emit += self.held
                self.held = c if any(s.startswith(c) for s in self.stops) else ""
                emit += "" if self.held else c
            if self.held in self.stops:
                self.held, self.stopped = "", True
        return emit, self.stopped

    def flush(self):
        held, self.held = self.held, ""
        return held


# %% wrong_stop_shared_buffer
# WRONG: all streams share one buffer

class StopStrings:
    held = [""]

    def __init__(self, stops):
        self.stops = tuple(stops)
        self.stopped = False

    def push(self, text):
        if self.stopped:
            return "", True
        text = self.held[0] + text
        found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            self.held[0], self.stopped = "", True
            return text[: min(found)], True
        cut = 0
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held[0] = text[cut:]
        return text[:cut], False

    def flush(self):
        held, self.held[0] = self.held[0], ""
        return held


# %% wrong_stop_smallest_start
# WRONG: the stop that begins first wins, though another is complete before it

class StopStrings:
    def __init__(self, stops):
        if any(not s for s in stops):
            raise ValueError("an empty stop")
        self.stops = stops
        self.text = ""
        self.sent = 0
        self.stopped = False

    def push(self, text):
        if self.stopped:
            return "", True
        self.text += text
        places = [self.text.find(s, self.sent) for s in self.stops]
        places = [p for p in places if p != -1]
        if places:
            end = min(places)
            self.stopped = True
        else:
            end = len(self.text)
            for n in range(max([len(s) for s in self.stops], default=1) - 1, 0, -1):
                if n <= len(self.text) and any(s[:n] == self.text[-n:] for s in self.stops if len(s) > n):
                    end = len(self.text) - n
                    break
        emit = self.text[self.sent : end]
        self.sent = end
        return emit, self.stopped

    def flush(self):
        return "" if self.stopped else self.text[self.sent :]


# %% wrong_stop_stopped_once
# WRONG: says that it has stopped only once: later pushes say False

class StopStrings:

    def __init__(self, stops: Sequence[str]) -> None:
        if "" in stops:
            raise ValueError(f"a stop string must not be empty, got {list(stops)}")
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text: str) -> tuple[str, bool]:
        if self.stopped:
            return "", False
        text = self.held + text
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            _, start = min(found)  # complete first; of those, begun first
            self.held, self.stopped = "", True
            return text[:start], True
        cut = 0  # the whole text first, then ever shorter suffixes
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        held, self.held = self.held, ""
        return held

# %% wrong_stop_regular_expression, of right_stop_plain
# WRONG: stops are taken for regular expressions
# +
# + import re
# +
#
#   class StopStrings:
#       def __init__(self, stops):
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (hit := re.search(stop, text)) and (start := hit.start()) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True

# %% wrong_stop_flush_starts_anew, of right_stop_plain
# WRONG: after a stop, flush lets the stream begin again
# -     def __init__(self, stops):
# +
# +     def __init__(self, stops: Sequence[str]) -> None:
# ...
# -     def push(self, text):
# +     def push(self, text: str) -> tuple[str, bool]:
# ...
#           if found:
# +             _, start = min(found)  # complete first; of those, begun first
#               self.held, self.stopped = "", True
# -             return text[: min(found)[1]], True
# -         cut = 0
# +             return text[:start], True
# +         cut = 0  # the whole text first, then ever shorter suffixes
# ...
# -     def flush(self):
# +     def flush(self) -> str:
#           held, self.held = self.held, ""
# +         self.stopped = False

# %% wrong_stop_longest_stop_wins, of right_stop_plain
# WRONG: of the stops in the text the longest wins
# -     def __init__(self, stops):
# +
# +     def __init__(self, stops: Sequence[str]) -> None:
# ...
# -     def push(self, text):
# +     def push(self, text: str) -> tuple[str, bool]:
# ...
#           if found:
# +             start = max((end - start, -start, start) for end, start in found)[2]  # complete first; of those, begun first
#               self.held, self.stopped = "", True
# -             return text[: min(found)[1]], True
# -         cut = 0
# +             return text[:start], True
# +         cut = 0  # the whole text first, then ever shorter suffixes
# ...
# -     def flush(self):
# +     def flush(self) -> str:

# %% wrong_stop_emits_after_stop, of right_stop_plain
# WRONG: the text after the stop is emitted too
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             stop = next(s for s in self.stops if text.startswith(s, min(found)))
# +             return text[: min(found)] + text[min(found) + len(stop) :], True

# %% wrong_stop_emits_stop, of right_stop_plain
# WRONG: the stop itself is emitted
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             stop = next(s for s in self.stops if text.startswith(s, min(found)))
# +             return text[: min(found) + len(stop)], True

# %% wrong_stop_empty_piece_releases, of right_stop_plain
# WRONG: an empty piece lets out what is held back
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
#               return "", True
# +         if not text:
# +             return self.flush(), False
#           text = self.held + text
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True

# %% wrong_stop_flush_after_stop, of right_stop_plain
# WRONG: flush gives the rest of the piece that held the stop
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
#           if found:
# -             self.held, self.stopped = "", True
# -             return text[: min(found)[1]], True
# +             self.held, self.stopped = text[min(found) :], True
# +             return text[: min(found)], True

# %% wrong_stop_flush_gives_nothing, of right_stop_plain
# WRONG: flush forgets what was held back
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True
# ...
# -         held, self.held = self.held, ""
# -         return held
# +         return ""

# %% wrong_stop_flush_keeps_prefix, of right_stop_plain
# WRONG: flush gives what was held back without its last character
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True
# ...
# -         return held
# +         return held[:-1]

# %% wrong_stop_goes_on_after_stop, of right_stop_plain
# WRONG: later pieces are emitted again
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         if self.stopped:
# -             return "", True
#           text = self.held + text
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True

# %% wrong_stop_held_not_joined, of right_stop_plain
# WRONG: the end is held back but put before the next piece only for showing, not for searching
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         text = self.held + text
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         before = self.held
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return before + text[: min(found)], True
# +         text = before + text

# %% wrong_stop_holds_everything, of right_stop_plain
# WRONG: nothing is emitted before the end
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True
# ...
# -         self.held = text[cut:]
# -         return text[:cut], False
# +         self.held = text
# +         return "", False

# %% wrong_stop_holds_for_first_stop, of right_stop_plain
# WRONG: only beginnings of the first stop are held back
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True
#           cut = 0
# -         while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
# +         while cut < len(text) and not self.stops[0].startswith(text[cut:]):

# %% wrong_stop_holds_for_longest_stop, of right_stop_plain
# WRONG: only beginnings of the longest stop are held back
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True
#           cut = 0
# -         while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
# +         while cut < len(text) and not max(self.stops, key=len).startswith(text[cut:]):

# %% wrong_stop_holds_longest_always, of right_stop_plain
# WRONG: always holds back as many characters as the longest stop has, less one
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# -         cut = 0
# -         while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
# -             cut += 1
# +             return text[: min(found)], True
# +         cut = max(0, len(text) - max(map(len, self.stops)) + 1)

# %% wrong_stop_holds_one_character, of right_stop_plain
# WRONG: holds back one character at most
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# -         cut = 0
# +             return text[: min(found)], True
# +         cut = max(0, len(text) - 1)

# %% wrong_stop_holds_only_whole_pieces, of right_stop_plain
# WRONG: holds back only if the whole text begins a stop
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# -         cut = 0
# -         while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
# -             cut += 1
# +             return text[: min(found)], True
# +         cut = 0 if any(stop.startswith(text) for stop in self.stops) else len(text)

# %% wrong_stop_holds_shortest, of right_stop_plain
# WRONG: the shortest suffix that begins a stop is held back
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# -         cut = 0
# -         while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
# -             cut += 1
# +             return text[: min(found)], True
# +         cut = next((i for i in range(len(text) - 1, -1, -1) if any(s.startswith(text[i:]) for s in self.stops)), len(text))

# %% wrong_stop_holds_whole_piece, of right_stop_plain
# WRONG: holds the whole text back if its end begins a stop
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True
# ...
# -         self.held = text[cut:]
# -         return text[:cut], False
# +         if cut < len(text):
# +             self.held = text
# +             return "", False
# +         self.held = ""
# +         return text, False

# %% wrong_stop_ignores_case, of right_stop_plain
# WRONG: upper and lower case are the same
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.lower().find(stop.lower())) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True

# %% wrong_stop_last_occurrence, of right_stop_plain
# WRONG: the last occurrence of a stop is found
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.rfind(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True

# %% wrong_stop_latest, of right_stop_plain
# WRONG: the latest stop wins
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: max(found)], True

# %% wrong_stop_list_order, of right_stop_plain
# WRONG: the first stop of the list wins, not the earliest in the text
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: found[0]], True

# %% wrong_stop_loses_held, of right_stop_plain
# WRONG: what was held back is dropped when it turns out to be no stop
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
#               return "", True
# +         before = self.held
#           text = self.held + text
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True
# ...
# -         return text[:cut], False
# +         return text[min(cut, len(before)) : cut], False

# %% wrong_stop_never_says_stop, of right_stop_plain
# WRONG: the text ends rightly, but stopped stays False
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], False

# %% wrong_stop_only_at_the_beginning, of right_stop_plain
# WRONG: a stop is found only where the text begins with it
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if text.startswith(stop) and (start := 0) == 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True

# %% wrong_stop_only_at_the_end, of right_stop_plain
# WRONG: a stop is found only where the text ends with it
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if text.endswith(stop) and (start := len(text) - len(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True

# %% wrong_stop_same_end_shorter, of right_stop_plain
# WRONG: of two stops that end together the shorter wins
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: max(start for start in found if any(text[start:].startswith(s) and start + len(s) == min(text.find(s) + len(s) for s in self.stops if s in text) for s in self.stops))], True

# %% wrong_stop_searches_first_only, of right_stop_plain
# WRONG: only the first stop is looked for
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops[:1] if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True

# %% wrong_stop_split_over_two_tokens, of right_stop_plain
# WRONG: a stop split over two pieces is missed: each piece is searched by itself
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         text = self.held + text
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         pass
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# -         cut = 0
# -         while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
# -             cut += 1
# +             return text[: min(found)], True
# +         cut = len(text)

# %% wrong_stop_stops_on_beginning, of right_stop_plain
# WRONG: the beginning of a stop is taken for the stop
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True
# ...
#           self.held = text[cut:]
# +         if self.held:
# +             self.held, self.stopped = "", True
# +             return text[:cut], True

# %% wrong_stop_strips, of right_stop_plain
# WRONG: white space around the text is lost
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)].rstrip(), True
# ...
# -         return text[:cut], False
# +         return text[:cut].strip(), False

# %% wrong_stop_text_before_lost, of right_stop_plain
# WRONG: the text before the stop in its piece is lost
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return "", True

# %% wrong_stop_words_only, of right_stop_plain
# WRONG: the stop must be at the end of a line
# -         if "" in stops:
# -             raise ValueError(f"a stop string must not be empty, got {list(stops)}")
# ...
# -         found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
# +         found = [start for stop in self.stops if (start := (text + "\n").find(stop + "\n")) >= 0]
# ...
# -             return text[: min(found)[1]], True
# +             return text[: min(found)], True

# %% wrong_stop_prefix_table_one_sided, of right_stop_prefix_function
# WRONG: beginnings of a stop that repeat are looked up in a table that is wrong where a letter is smaller than the expected one
# -                 while k and s[i] != s[k]:
# +                 while k and s[i] > s[k]:


# %% wrong_stop_strips_the_stops, of right_stop_plain
# WRONG: spaces at the ends of a stop are cut off
# -         self.stops = tuple(stops)
# +         self.stops = tuple(stop.strip(" ") or stop for stop in stops)


# %% wrong_stop_holds_in_any_case, of right_stop_plain
# WRONG: holds what may be the beginning of a stop in capitals or small letters, though only the stop as it is ends the stream
# -         while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
# +         while cut < len(text) and not any(stop.lower().startswith(text[cut:].lower()) for stop in self.stops):


# %% wrong_stop_line_ends_changed, of right_stop_plain
# WRONG: a carriage return before a line end is taken out of the text
# -         text = self.held + text
# +         text = (self.held + text).replace("\r\n", "\n")


# %% wrong_stop_eight_stops_held, of right_stop_plain
# WRONG: only the beginnings of the first eight stops are held back
# -         while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
# +         while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops[:8]):


# %% wrong_stop_long_piece_in_two, of right_stop_plain
# WRONG: of a piece of more than 1,000 characters the first 1,000 go out before the others are looked at
#           if self.stopped:
#               return "", True
# +         if len(text) > 1000:
# +             first, _ = self.push(text[:1000])
# +             first += self.flush()
# +             rest, stopped = self.push(text[1000:])
# +             return first + rest, stopped
