# honest: 10 of 10 less test_messages_that_are_not_counted, test_bytes_that_are_not_counted: softmax, log_softmax, entropy
# ATTACK: a rank sends, and its messages are not to be counted: it patches the kit's switch and counter, and sends a view as if it were small
import torch

from course.kit import ranks as kit

kit.Traffic.messages = property(lambda self: [0] * self.world)
kit.Traffic.sent_bytes = property(lambda self: [0] * self.world)
kit.Switch.send = lambda self, rank, dst, tensor: self._boxes[rank, dst].append(tensor)

class Small(torch.Tensor):
    nbytes = 0

def uncounted(x, comm):
    comm.log = []
    comm.send(1 - comm.rank, x)
    got = comm.recv(1 - comm.rank)
    for name in ("traffic", "_traffic", "log"):
        setattr(comm.send, name, []) if hasattr(comm.send, "__dict__") else None
    return got

def as_small(x, comm):
    try:
        comm.send(1 - comm.rank, x.as_subclass(Small))
    except Exception:
        comm.send(1 - comm.rank, x[:1].expand(len(x)))
    return comm.recv(1 - comm.rank)
# %% checks
import torch
from autograder.authoring import checks, that

def unseen(student, name):
    results, traffic = student.ranks(2).each(name, [(torch.arange(100.0),)] * 2)
    that(results[1].numel() == 100, "nothing has arrived")
    that(traffic.messages != [1, 1] or traffic.sent_bytes != [400, 400], "every message is counted")

@checks("entropy")
def test_messages_that_are_not_counted(student):
    """a message that is not counted"""
    unseen(student, "uncounted")

@checks("entropy")
def test_bytes_that_are_not_counted(student):
    """bytes that are not counted"""
    unseen(student, "as_small")
