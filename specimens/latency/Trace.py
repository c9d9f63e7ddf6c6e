# Versions of Trace, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_trace_properties
# RIGHT: TPOT from the first and the last token
from dataclasses import dataclass


@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self) -> float:
        return self.token_times[0] - self.arrival

    @property
    def itl(self) -> list[float]:
        return [b - a for a, b in zip(self.token_times, self.token_times[1:])]

    @property
    def tpot(self) -> float:
        return (self.token_times[-1] - self.token_times[0]) / max(len(self.token_times) - 1, 1)

    @property
    def e2e(self) -> float:
        return self.token_times[-1] - self.arrival


# %% right_trace_init
# RIGHT: an ordinary class, everything computed once
class Trace:
    def __init__(self, arrival, token_times):
        self.arrival = arrival
        self.token_times = list(token_times)
        self.ttft = self.token_times[0] - arrival
        self.itl = [self.token_times[i + 1] - self.token_times[i] for i in range(len(self.token_times) - 1)]
        self.e2e = self.token_times[-1] - arrival
        self.tpot = sum(self.itl) / len(self.itl) if self.itl else 0.0


# %% right_trace_namedtuple
# RIGHT: slots, gaps from a loop
class Trace:
    __slots__ = ("arrival", "token_times")

    def __init__(self, arrival, token_times):
        self.arrival, self.token_times = arrival, token_times

    @property
    def ttft(self):
        return min(self.token_times) - self.arrival

    @property
    def itl(self):
        gaps, before = [], None
        for now in self.token_times:
            if before is not None:
                gaps.append(now - before)
            before = now
        return gaps

    @property
    def tpot(self):
        gaps = self.itl
        return sum(gaps) / len(gaps) if gaps else 0.0

    @property
    def e2e(self):
        return max(self.token_times) - self.arrival


# %% right_trace_numpy
# RIGHT: differences by numpy, a tuple inside
import numpy as np


class Trace:
    def __init__(self, arrival, token_times):
        self.arrival = float(arrival)
        self.token_times = tuple(token_times)

    ttft = property(lambda self: self.token_times[0] - self.arrival)
    itl = property(lambda self: np.diff(np.array(self.token_times, dtype=np.float64)).tolist())
    tpot = property(lambda self: float(np.mean(self.itl)) if len(self.itl) else 0.0)
    e2e = property(lambda self: self.ttft + sum(self.itl))


# %% wrong_Trace_float32
# WRONG: all in float32: large clock values lose the gaps
# SAYS: The times are kept in float32, which has no room for seconds since 1970.
import torch

from dataclasses import dataclass
@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return self.token_times[0] - self.arrival

    @property
    def itl(self):
        return torch.tensor(self.token_times).diff().tolist()

    @property
    def tpot(self):
        return sum(self.itl) / len(self.itl) if self.itl else 0.0

    @property
    def e2e(self):
        return self.token_times[-1] - self.arrival


# %% wrong_Trace_itl_nonzero
# WRONG: gaps of 0 seconds left out
from dataclasses import dataclass
@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return self.token_times[0] - self.arrival

    @property
    def itl(self):
        return [b - a for a, b in zip(self.token_times, self.token_times[1:]) if b > a]

    @property
    def tpot(self):
        return sum(self.itl) / len(self.itl) if self.itl else 0.0

    @property
    def e2e(self):
        return self.token_times[-1] - self.arrival


# %% wrong_Trace_itl_pops
# WRONG: reading the gaps takes the token times apart
@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return self.token_times[0] - self.arrival

    @property
    def itl(self):
        gaps = [b - a for a, b in zip(self.token_times, self.token_times[1:])]
        del self.token_times[1:-1]
        return gaps

    @property
    def tpot(self):
        return (self.token_times[-1] - self.token_times[0]) / max(len(self.token_times) - 1, 1)

    @property
    def e2e(self):
        return self.token_times[-1] - self.arrival


# %% wrong_Trace_never_negative_itl
# WRONG: gaps shorter than a microsecond count as 0
@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return (self.token_times[0] - self.arrival)

    @property
    def itl(self):
        return [b - a if b - a > 1e-6 else 0.0 for a, b in zip(self.token_times, self.token_times[1:])]

    @property
    def tpot(self):
        return (sum(self.itl) / len(self.itl)) if self.itl else 0.0

    @property
    def e2e(self):
        return (self.token_times[-1] - self.arrival)


# %% wrong_Trace_rounded_to_microseconds
# WRONG: every time is rounded to microseconds
def micro(seconds):
    return round(seconds, 6)


@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return micro(self.token_times[0] - self.arrival)

    @property
    def itl(self):
        return [micro(b - a) for a, b in zip(self.token_times, self.token_times[1:])]

    @property
    def tpot(self):
        return micro(sum(self.itl) / len(self.itl)) if self.itl else 0.0

    @property
    def e2e(self):
        return micro(self.token_times[-1] - self.arrival)


# %% wrong_Trace_tpot_rounded
# WRONG: TPOT is rounded to a tenth of a millisecond
@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return (self.token_times[0] - self.arrival)

    @property
    def itl(self):
        return [(b - a) for a, b in zip(self.token_times, self.token_times[1:])]

    @property
    def tpot(self):
        return round(sum(self.itl) / len(self.itl), 4) if self.itl else 0.0

    @property
    def e2e(self):
        return (self.token_times[-1] - self.arrival)


# %% wrong_Trace_tpot_single_ttft
# WRONG: one token: gives ttft
# SAYS: A single token has no gap: its TPOT is 0.0, not its TTFT.
from dataclasses import dataclass
@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return self.token_times[0] - self.arrival

    @property
    def itl(self):
        return [b - a for a, b in zip(self.token_times, self.token_times[1:])]

    @property
    def tpot(self):
        return sum(self.itl) / len(self.itl) if self.itl else self.ttft

    @property
    def e2e(self):
        return self.token_times[-1] - self.arrival


# %% wrong_Trace_tpot_two
# WRONG: 0.0 for two tokens as well
# SAYS: Two tokens have one gap, so their TPOT is that gap and not 0.0.
from dataclasses import dataclass
@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return self.token_times[0] - self.arrival

    @property
    def itl(self):
        return [b - a for a, b in zip(self.token_times, self.token_times[1:])]

    @property
    def tpot(self):
        return sum(self.itl) / len(self.itl) if len(self.itl) > 1 else 0.0

    @property
    def e2e(self):
        return self.token_times[-1] - self.arrival


# %% wrong_Trace_tpot_zero
# WRONG: division by zero for one token
# SAYS: A single token has no gap: there is nothing to divide by, and TPOT is 0.0.
from dataclasses import dataclass
@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return self.token_times[0] - self.arrival

    @property
    def itl(self):
        return [b - a for a, b in zip(self.token_times, self.token_times[1:])]

    @property
    def tpot(self):
        return sum(self.itl) / len(self.itl)

    @property
    def e2e(self):
        return self.token_times[-1] - self.arrival

# %% wrong_trace_milliseconds, of right_trace_properties
# WRONG: milliseconds instead of seconds
# SAYS: The times are in milliseconds. Give seconds.
# -         return self.token_times[0] - self.arrival
# +         return 1000 * (self.token_times[0] - self.arrival)

# %% wrong_trace_ttft_absolute, of right_trace_properties
# WRONG: TTFT is the time of the first token, arrival not taken off
# -         return self.token_times[0] - self.arrival
# +         return self.token_times[0]

# %% wrong_trace_ttft_last, of right_trace_properties
# WRONG: TTFT taken from the last token
# -         return self.token_times[0] - self.arrival
# +         return self.token_times[-1] - self.arrival

# %% wrong_trace_gaps_from_arrival, of right_trace_properties
# WRONG: each gap counted from the arrival
# -         return [b - a for a, b in zip(self.token_times, self.token_times[1:])]
# +         return [b - self.arrival for b in self.token_times[1:]]

# %% wrong_trace_gaps_reversed, of right_trace_properties
# WRONG: gaps have the wrong sign
# SAYS: The gaps have the wrong sign: the later time less the earlier.
# -         return [b - a for a, b in zip(self.token_times, self.token_times[1:])]
# +         return [a - b for a, b in zip(self.token_times, self.token_times[1:])]

# %% wrong_trace_last_gap_lost, of right_trace_properties
# WRONG: the last gap is lost
# -         return [b - a for a, b in zip(self.token_times, self.token_times[1:])]
# +         return [b - a for a, b in zip(self.token_times, self.token_times[1:-1])]

# %% wrong_trace_ttft_is_a_gap, of right_trace_properties
# WRONG: TTFT counted as a gap
# SAYS: The wait for the first token is counted as a gap. Gaps are between tokens.
# -         return [b - a for a, b in zip(self.token_times, self.token_times[1:])]
# +         return [b - a for a, b in zip([self.arrival] + list(self.token_times), self.token_times)]
# ...
# -         return (self.token_times[-1] - self.token_times[0]) / max(len(self.token_times) - 1, 1)
# +         return (self.token_times[-1] - self.arrival) / len(self.token_times)

# %% wrong_trace_median_gap, of right_trace_properties
# WRONG: TPOT is the middle gap
# -         return (self.token_times[-1] - self.token_times[0]) / max(len(self.token_times) - 1, 1)
# +         return sorted(self.itl)[len(self.itl) // 2] if self.itl else 0.0

# %% wrong_trace_tpot_over_tokens, of right_trace_properties
# WRONG: TPOT divides the gaps by the number of tokens
# -         return (self.token_times[-1] - self.token_times[0]) / max(len(self.token_times) - 1, 1)
# +         return (self.token_times[-1] - self.token_times[0]) / len(self.token_times)

# %% wrong_trace_tpot_with_ttft, of right_trace_properties
# WRONG: TPOT is end-to-end over tokens
# -         return (self.token_times[-1] - self.token_times[0]) / max(len(self.token_times) - 1, 1)
# +         return (self.token_times[-1] - self.arrival) / len(self.token_times)

# %% wrong_trace_e2e_absolute, of right_trace_properties
# WRONG: end-to-end is the time of the last token, arrival not taken off
# -         return self.token_times[-1] - self.arrival
# +         return self.token_times[-1]

# %% wrong_trace_e2e_from_first, of right_trace_properties
# WRONG: end-to-end counted from the first token
# -         return self.token_times[-1] - self.arrival
# +         return self.token_times[-1] - self.token_times[0]

# %% wrong_trace_one_gap_too_many, of right_trace_properties
# WRONG: end-to-end by the rule of thumb TTFT + tokens x gap
# -         return self.token_times[-1] - self.arrival
# +         return self.ttft + len(self.token_times) * self.tpot

# %% wrong_trace_sizes_of_times, of right_trace_properties
# WRONG: end-to-end between the sizes of both times: wrong on a clock that passes 0
# -         return self.token_times[-1] - self.arrival
# +         return abs(abs(self.token_times[-1]) - abs(self.arrival))

# %% wrong_trace_gaps_by_arrival, of right_trace_properties
# WRONG: the gaps are remembered by the arrival and the number of tokens: a second request with the same two gets those of the first
#       token_times: list[float]
# +     _known = {}
# ...
# -         return [b - a for a, b in zip(self.token_times, self.token_times[1:])]
# +         gaps = [b - a for a, b in zip(self.token_times, self.token_times[1:])]
# +         return self._known.setdefault((self.arrival, len(self.token_times)), gaps)

# %% wrong_trace_ttft_between_absolute_times, of right_trace_properties
# WRONG: TTFT is the difference of absolute values: too small if the clock passes 0 before the first token
# -         return self.token_times[0] - self.arrival
# +         return abs(abs(self.token_times[0]) - abs(self.arrival))
