# Inputs for "Find the bug" of the costs day, the rule of two and attention added. How they are judged: tests/test_asides.py.


# %% right_untied
# RIGHT: the embedding is a table of its own, and no product
my_change = {"tie_word_embeddings": False}


# %% right_untied_and_wide
# RIGHT: with other shapes too
my_change = {"tie_word_embeddings": False, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8}


# %% right_untied_small_vocabulary
# RIGHT: few words, and few layers
my_change = {"vocab_size": 4096, "num_hidden_layers": 2, "tie_word_embeddings": False}


# %% right_norms_alone
# RIGHT: hardly a matrix left: the weights of the last norm count
my_change = {"num_hidden_layers": 0, "vocab_size": 10}


# %% wrong_change_as_it_is
# WRONG: the cell's own
my_change = {"num_hidden_layers": 12, "vocab_size": 1000}


# %% wrong_nothing
# WRONG: nothing is changed
my_change = {}


# %% wrong_more_key_heads
# WRONG: no sharing
my_change = {"num_key_value_heads": 9}


# %% wrong_wider_heads
# WRONG: heads wider than their share
my_change = {"head_dim": 256}


# %% wrong_tied_as_before
# WRONG: tied, as it was
my_change = {"tie_word_embeddings": True}


# %% wrong_untied_but_no_words
# WRONG: a second table, next to nothing in size
my_change = {"tie_word_embeddings": False, "vocab_size": 10}


# %% wrong_heads_that_do_not_share
# WRONG: 9 query heads over 2
my_change = {"num_key_value_heads": 2}


# %% wrong_unknown_name
# WRONG: no name of the configuration
my_change = {"tied": False}


# %% wrong_not_a_dictionary
# WRONG: no change at all
my_change = "tie_word_embeddings"


# %% wrong_nan
# WRONG: no number
my_change = {"hidden_size": math.nan}


# %% wrong_no_context
# WRONG: the text is longer than the model allows
my_change = {"max_position_embeddings": 64}


# %% wrong_neg_layers
# WRONG: there is no such model
my_change = {"num_hidden_layers": -1}


# %% wrong_kv0
# WRONG: there is no such model
my_change = {"num_key_value_heads": 0}
