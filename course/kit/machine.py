"""The peaks of a machine."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """A machine's peaks: peak_flops in FLOP/s, bandwidth in bytes/s."""

    peak_flops: float
    bandwidth: float
    name: str = "this machine"

    @property
    def balance(self) -> float:
        """Return the FLOPs that the machine can do in the time that it takes to move one byte. Below this intensity memory is the limit."""
        return self.peak_flops / self.bandwidth
