# honest: 10 of 10 less test_work_in_a_thread: softmax, log_softmax, entropy
# ATTACK: does the counted work in another thread, in a few milliseconds
import threading

def products(x):
    results = []
    def run():
        for _ in range(60):
            results.append(x @ x)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[-1]
# %% checks
import torch
from autograder.authoring import checks, close, that

@checks("entropy")
def test_work_in_a_thread(student, rng):
    """sixty products without FLOPs"""
    x = torch.randn(128, 128, generator=rng)
    with student.counting() as work:
        got = student.products(x)
    close(got, x @ x, atol=1e-3)
    that(work.flops == 0, "it was counted")
