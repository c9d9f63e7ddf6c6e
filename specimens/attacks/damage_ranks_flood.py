# honest: 10 of 10 less test_flood_of_large_messages, test_flood_of_small_messages: softmax, log_softmax, entropy
# ATTACK: a rank sends without end what nobody receives: large messages and empty ones, and takes no refusal
import torch

def flood(x, comm):
    while True:
        try:
            comm.send(1 - comm.rank, x)
        except RuntimeError:
            pass
# %% checks
import torch
from autograder.authoring import checks

@checks("entropy")
def test_flood_of_large_messages(student):
    """messages of 3.6 MB without end"""
    student.ranks(2).each("flood", [(torch.zeros(900_000),)] * 2)

@checks("entropy")
def test_flood_of_small_messages(student):
    """empty messages without end"""
    student.ranks(2).each("flood", [(torch.zeros(0),)] * 2)
