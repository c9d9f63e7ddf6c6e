# honest: 10 of 10 less test_rank_that_exits, test_ranks_that_wait, test_messages_of_nonsense: softmax, log_softmax, entropy
# ATTACK: a rank ends its process while others wait for it; all wait for each other; and one sends what is no message
import os

def exits(x, comm):
    if comm.rank == 1:
        os._exit(0)
    return comm.recv((comm.rank + 1) % comm.world)

def waits(x, comm):
    while True:
        try:
            return comm.recv((comm.rank + 1) % comm.world)
        except RuntimeError:
            pass

def nonsense(x, comm):
    for dst, what in ((True, x), (-1, x), (comm.rank, x), (10**30, x), ("1", x), (1, None), (1, [x]), (1, lambda: 0), (1, x.to("meta"))):
        try:
            comm.send(dst, what)
        except Exception:
            pass
        try:
            comm.recv(dst)
        except Exception:
            pass
    return comm.send(1 - comm.rank, x.expand(10**6, 10**6))
# %% checks
import torch
from autograder.authoring import checks

@checks("entropy")
def test_rank_that_exits(student):
    """three ranks, one of which ends its process"""
    student.ranks(3).each("exits", [(1,)] * 3)

@checks("entropy")
def test_ranks_that_wait(student):
    """three ranks that wait, and go on waiting when they are told that nobody comes"""
    student.ranks(3).each("waits", [(1,)] * 3)

@checks("entropy")
def test_messages_of_nonsense(student):
    """messages that are none, to ranks that are none"""
    student.ranks(2).each("nonsense", [(torch.ones(1, 1),)] * 2)
