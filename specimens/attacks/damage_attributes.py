# honest: 10 of 10 less test_attribute_that_loops, test_attribute_that_exits, test_item_of_another_class: softmax, log_softmax, entropy
# ATTACK: objects whose attributes and items run code when they are read or set: it loops, ends the process, and changes their class
import os

class Object:
    def __setattr__(self, name, value):
        while name == "loops":
            pass
        if name == "exits":
            os._exit(0)
        object.__setattr__(self, name, value)
    def __setitem__(self, key, value):
        self.__class__ = type("Other", (Object,), {"__getattr__": lambda self, name: self, "__iter__": lambda self: self, "__next__": lambda self: self})
    def __eq__(self, other):
        return True

def made(n):
    return Object()
# %% checks
from autograder.authoring import checks, equal

@checks("entropy")
def test_attribute_that_loops(student):
    """an attribute that is never set"""
    student.made(1).loops = 1

@checks("entropy")
def test_attribute_that_exits(student):
    """an attribute that ends the process"""
    student.made(1).exits = 1

@checks("entropy")
def test_item_of_another_class(student):
    """an object that becomes another, which answers everything with itself"""
    thing = student.made(1)
    thing[0] = 1
    equal([each for _, each in zip(range(3), thing)], [1, 2, 3])
