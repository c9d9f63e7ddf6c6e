# Inputs for "Find the bug" of the tokenizer day, a decoder that waits with all it has. How they are judged: tests/test_asides.py.


# %% right_text_and_a_first_byte
# RIGHT: eight bytes could be read
my_tokens = [b"The cat \xe7", b"\x8c", b"\xab"]


# %% right_broken_for_ever
# RIGHT: a byte that begins no character
my_tokens = [b"\xff", b"a", b"b", b"c", b"d"]


# %% right_broken_character
# RIGHT: a character that is broken off
my_tokens = [b"\xe7", b"Hello"]


# %% right_whole_and_a_part
# RIGHT: a whole character waits with the beginning of the next
my_tokens = [b"\xe6\x97\xa5\xe6", b"\x9c\xac"]


# %% wrong_tokens_as_they_are
# WRONG: the figure's stream
my_tokens = [b"\xe6\x97", b"\xa5", b"\xe6\x9c\xac"]


# %% wrong_plain
# WRONG: nothing has to wait
my_tokens = [b"The", b" cat", b" sat"]


# %% wrong_byte_by_byte
# WRONG: three bytes of a smiley wait, as they must
my_tokens = [b"\xf0", b"\x9f", b"\x99", b"\x82"]


# %% wrong_a_letter_and_two_bytes
# WRONG: a letter waits that need not, three bytes in all
my_tokens = [b"a\xe7\x8c", b"\xab"]


# %% wrong_one_whole_token
# WRONG: a long text in one token
my_tokens = ["The cat is 猫 in Japanese".encode()]


# %% wrong_nothing
# WRONG: an empty stream
my_tokens = [b"", b""]


# %% wrong_ends_broken
# WRONG: broken at the end, three bytes
my_tokens = [b"abc", b"\xf0\x9f\x99"]
