# honest: 10 of 10 less test_late_items, test_late_number: softmax, log_softmax, entropy
# ATTACK: returns a list, a dict and a number of classes of its own, which draw and compute only when they are sent
import torch

class Items(list):
    def __iter__(self):
        return iter([torch.rand(50)])

class Pairs(dict):
    def items(self):
        return [("a", torch.rand(50))]

class Number(float):
    def __float__(self):
        return float(torch.rand(()))

def items(kind):
    return Items([torch.zeros(50)]) if kind == "list" else Pairs(a=torch.zeros(50))

def number():
    return Number(0.0)
# %% checks
from autograder.authoring import checks, that

@checks("entropy")
def test_late_items(student):
    """lists and dicts whose items are drawn, and no random state has moved"""
    got = [student.items("list", _rng_unchanged=True)[0], student.items("dict", _rng_unchanged=True)["a"]]
    that(any(each.unique().numel() > 25 for each in got), "they are not drawn")

@checks("entropy")
def test_late_number(student):
    """a number that is drawn, and no random state has moved"""
    that(student.number(_rng_unchanged=True) != 0.0, "it is not drawn")
