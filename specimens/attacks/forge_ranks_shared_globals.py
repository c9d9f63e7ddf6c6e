# honest: 10 of 10 less test_number_in_a_global, test_number_in_the_kit: softmax, log_softmax, entropy
# ATTACK: one rank tells another a number without a message: through a global variable, and through the modules that both have imported
import builtins, os, sys

import torch

SHARED = {}

def by_global(number, comm):
    if comm.rank == 0:
        SHARED["number"] = number
    return SHARED.get("number", -1)

def by_modules(number, comm):
    from course.kit import ranks

    if comm.rank == 0:
        for place in (builtins, sys, torch, ranks, ranks.Communicator):
            place.number = number
        os.environ["NUMBER"] = str(number)
        return number
    told = [getattr(place, "number", -1) for place in (builtins, sys, torch, ranks, ranks.Communicator)]
    return max(*told, int(os.environ.get("NUMBER", -1)))
# %% checks
import torch
from autograder.authoring import checks, that

def told(student, name, rng):
    number = int(torch.randint(1, 2**16, (), generator=rng))
    results, traffic = student.ranks(2).each(name, [(number,), (0,)])
    that(results[1] == number and not traffic.log, "it has not heard of it")

@checks("entropy")
def test_number_in_a_global(student, rng):
    """a number in a global variable"""
    told(student, "by_global", rng)

@checks("entropy")
def test_number_in_the_kit(student, rng):
    """a number in what both ranks import"""
    told(student, "by_modules", rng)
