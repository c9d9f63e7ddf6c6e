# exercise: Trace
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
