# honest: 10 of 10 less test_late_product, test_late_draw: softmax, log_softmax, entropy
# ATTACK: returns a tensor whose class does the work only when it is sent, behind the counter and behind the look at the random state
import torch

class Late(torch.Tensor):
    def detach(self):
        return self.work()
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))

def late(work, like):
    result = torch.zeros_like(like).as_subclass(Late)
    result.work = work
    return result

def product(x):
    return late(lambda: x @ x, x)

def draw(x):
    return late(lambda: torch.rand(x.shape), x)
# %% checks
import torch
from autograder.authoring import checks, close, that

@checks("entropy")
def test_late_product(student, rng):
    """a product without FLOPs"""
    x = torch.randn(32, 32, generator=rng)
    with student.counting() as work:
        got = student.product(x)
    close(got, x @ x, atol=1e-4)
    that(work.flops == 0, "it was counted")

@checks("entropy")
def test_late_draw(student):
    """random numbers that move no random state"""
    got = student.draw(torch.zeros(100), _rng_unchanged=True)
    that(got.unique().numel() > 50, "they are not drawn")
