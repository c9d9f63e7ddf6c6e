# honest: 10 of 10 less test_steps_of_a_story, test_steps_behind_an_error: softmax, log_softmax, entropy
# ATTACK: in a story, raises what says that it was not played, and has the worker forget that a step raised
import gc

class NotPlayed(Exception):
    pass

def worker():
    return next(w for w in gc.get_objects() if type(w).__name__ == "Worker" and hasattr(w, "connection"))

def take(n):
    serve = worker()
    serve.results = dict.fromkeys(range(100), n)
    type(serve).raised = property(lambda self: False, lambda self, value: None)
    type(serve).lacking = property(lambda self: False, lambda self, value: None)
    raise NotPlayed("not played")

def same(n):
    return n
# %% checks
from autograder.authoring import checks, that
from autograder.sandbox.protocol.story import Story

@checks("entropy")
def test_steps_of_a_story(student):
    """a step that raises and passes for one that was not played"""
    story = Story()
    story.call("take", 1)
    [outcome] = student.play(story)
    that(not outcome.played and outcome.error is None, "it was played, and raised")

@checks("entropy")
def test_steps_behind_an_error(student):
    """an answer that leans on a step that raised"""
    story = Story()
    taken = story.call("take", 1)
    story.call("same", taken)
    outcomes = student.play(story, stop=False)
    that(outcomes[1].played and outcomes[1].value == 1, "it was not played")
