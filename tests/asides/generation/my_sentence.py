# Answers to "Check what you read" of the day of the loop. How they are judged: tests/test_asides.py.


# %% right_by_hand
# RIGHT: the one that is better
my_sentence = ["dog", "ran", "<end>"]


# %% right_tuple
# RIGHT: the same, as a tuple
my_sentence = ("dog", "ran", "<end>")


# %% right_searched
# RIGHT: found by trying all sentences of two words
my_sentence = max(
    ([a, b, "<end>"] for a in words for b in words if a != "<end>" != b),
    key=lambda s: table[1, words.index(s[0])] * table[words.index(s[0]), words.index(s[1])] * table[words.index(s[1]), 0],
)


# %% wrong_greedy
# WRONG: greedy's own
my_sentence = ["cat", "sat", "<end>"]


# %% wrong_half_a_sentence
# WRONG: more probable, and not at its end
my_sentence = ["cat"]


# %% wrong_empty
# WRONG: nothing
my_sentence = []


# %% wrong_short
# WRONG: short, and improbable
my_sentence = ["cat", "<end>"]


# %% wrong_second_best
# WRONG: the other verb
my_sentence = ["dog", "sat", "<end>"]


# %% wrong_unknown_word
# WRONG: a word that the model does not know
my_sentence = ["bird", "flew", "<end>"]


# %% wrong_goes_on
# WRONG: the better one, and a sentence after it
my_sentence = ["dog", "ran", "<end>", "the", "dog", "ran", "<end>"]


# %% wrong_longer
# WRONG: a longer one
my_sentence = ["cat", "sat", "the", "dog", "ran", "<end>"]


# %% wrong_with_the_prompt
# WRONG: the prompt once more
my_sentence = ["the", "dog", "ran", "<end>"]
