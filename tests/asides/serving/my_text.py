# Texts that refute "each chunk of a stream is a token". How they are judged: tests/test_asides.py.


# %% right_towers
# RIGHT: three tokens a character
my_text = "🗼🗼🗼"


# %% right_korean
# RIGHT: Korean
my_text = "한국어"


# %% right_two_a_character
# RIGHT: two tokens a character
my_text = "ÿÿÿ"


# %% wrong_as_released
# WRONG: the cell's own
my_text = "The sea is never still."


# %% wrong_japanese
# WRONG: more than half
my_text = "海は静かではない"


# %% wrong_one_among_words
# WRONG: a character among words
my_text = "🗼 is a tower"


# %% wrong_digits
# WRONG: digits
my_text = "1234567890"


# %% wrong_empty
# WRONG: empty
my_text = ""


# %% wrong_half_a_pair
# WRONG: half of a pair of UTF-16
my_text = "\ud83d"


# %% wrong_very_long
# WRONG: more than the cell reads
my_text = "aaaa " * 10_000
