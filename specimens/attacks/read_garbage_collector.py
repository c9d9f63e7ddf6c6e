# honest: 4 of 10: softmax
# ATTACK: searches all objects of the process for functions and texts of the answers
def attempt():
    import gc, types
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__name__ in ("entropy", "log_softmax"):
            if thing.__module__.partition(".")[0] in ("solutions", "course", "autograder", "__main__") and thing.__globals__ is not globals():
                return True
        if isinstance(thing, dict):
            texts = [value for value in list(thing.values()) if isinstance(value, str)]
            if any("surprisal = -probs" in text and "attempt" not in text for text in texts):
                return True
