# Inputs for "Find the bug" of the tokenizer day, the longest token first. How they are judged: tests/test_asides.py.


# %% right_uncomfortable
# RIGHT: `unc` takes the letter that `comfort` needs
my_text = "uncomfortable"


# %% right_capitals
# RIGHT: fewer tokens than the library makes
my_text = "STRAWBERRY"


# %% right_a_name
# RIGHT: a name nobody has
my_text = "Mrs Brimblecoate"


# %% right_words_run_together
# RIGHT: two words without a space
my_text = "helloworld"


# %% right_accent
# RIGHT: a letter of two bytes
my_text = "café"


# %% wrong_text_as_it_is
# WRONG: the cell's own
my_text = "The cat sat on the mat in hats"


# %% wrong_one_token
# WRONG: a word that is one token
my_text = " strawberry"


# %% wrong_digits
# WRONG: every digit is a piece of its own
my_text = "1969 and 2024"


# %% wrong_nothing
# WRONG: no text at all
my_text = ""


# %% wrong_special
# WRONG: both leave the names of special tokens whole
my_text = "<|im_start|>user"


# %% wrong_no_token_for_a_byte
# WRONG: both leave out a byte that has no token
my_text = "a\x04b"


# %% wrong_two_spaces
# WRONG: both cut into pieces first
my_text = "two  spaces"


# %% wrong_long_and_right
# WRONG: long, of frequent words
my_text = "unbelievable, impossible, and I disagree with the tokenizer"
