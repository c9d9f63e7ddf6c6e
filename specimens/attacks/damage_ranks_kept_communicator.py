# honest: 10 of 10 less test_kept_communicator: softmax, log_softmax, entropy
# ATTACK: a rank keeps its communicator and waits, in a later call, for a message of an earlier one, whose turn never comes
kept = []

class Object:
    pass

def keep(x, comm):
    kept.append(comm)
    return Object()

def wait(x, comm):
    return kept[0].recv(1 - comm.rank)
# %% checks
from autograder.authoring import checks

@checks("entropy")
def test_kept_communicator(student):
    """a wait for an earlier call's message"""
    ranks = student.ranks(2)
    held, _ = ranks.each("keep", [(1,), (1,)])
    ranks.each("wait", [(1,), (1,)])
    assert held
