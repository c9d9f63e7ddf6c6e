# Versions of tensor_parallel_seconds, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_tp_seconds_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def tensor_parallel_seconds(weight_bytes, layers, width, rows, bytes_per_value, world, bandwidth, link_bandwidth, latency):
    share = weight_bytes / world
    reading = share / bandwidth
    message = rows * width * bytes_per_value
    each = all_reduce_seconds(message, world, link_bandwidth, latency)
    sending = 2 * layers * each
    return reading + sending

# %% right_tp_seconds_written_out
# RIGHT: the ring's formula written out

def tensor_parallel_seconds(weight_bytes, layers, width, rows, bytes_per_value, world, bandwidth, link_bandwidth, latency):
    steps = 4 * layers * (world - 1)
    return weight_bytes / (world * bandwidth) + steps * (latency + bytes_per_value * width * rows / (world * link_bandwidth))

# %% right_tp_seconds_layers
# RIGHT: layer after layer

def tensor_parallel_seconds(weight_bytes, layers, width, rows, bytes_per_value, world, bandwidth, link_bandwidth, latency):
    seconds = 0.0
    for _layer in range(layers):
        seconds += weight_bytes / layers / world / bandwidth
        for _half in ("attention", "feed-forward"):
            seconds += all_reduce_seconds(bytes_per_value * rows * width, world, link_bandwidth, latency)
    return seconds

# %% wrong_tp_seconds_one_reduce, of right_tp_seconds_plain
# WRONG: one all-reduce a layer: there are two
# -     sending = 2 * layers * each
# +     sending = layers * each

# %% wrong_tp_seconds_vocabulary_too, of right_tp_seconds_plain
# WRONG: one more all-reduce, for the embeddings, which is left out
# -     sending = 2 * layers * each
# +     sending = (2 * layers + 1) * each

# %% wrong_tp_seconds_weights_whole, of right_tp_seconds_plain
# WRONG: every rank reads all of the weights
# -     reading = share / bandwidth
# +     reading = weight_bytes / bandwidth

# %% wrong_tp_seconds_overlap, of right_tp_seconds_plain
# WRONG: reading and sending at the same time
# -     return reading + sending
# +     return max(reading, sending)

# %% wrong_tp_seconds_no_rows, of right_tp_seconds_plain
# WRONG: one row, however many there are
# -     message = rows * width * bytes_per_value
# +     message = width * bytes_per_value

# %% wrong_tp_seconds_values_as_bytes, of right_tp_seconds_plain
# WRONG: values are counted as bytes
# -     message = rows * width * bytes_per_value
# +     message = rows * width

# %% wrong_tp_seconds_square, of right_tp_seconds_plain
# WRONG: width squared, as of a matrix
# -     message = rows * width * bytes_per_value
# +     message = rows * width * width * bytes_per_value

# %% wrong_tp_seconds_cut_message, of right_tp_seconds_plain
# WRONG: the message is cut among ranks before the all-reduce, which cuts it itself
# -     message = rows * width * bytes_per_value
# +     message = rows * width * bytes_per_value / world

# %% wrong_tp_seconds_one_shot, of right_tp_seconds_plain
# WRONG: one-shot, not around a ring
# -     each = all_reduce_seconds(message, world, link_bandwidth, latency)
# +     each = one_shot_seconds(message, world, link_bandwidth, latency)

# %% wrong_tp_seconds_bandwidths_exchanged, of right_tp_seconds_plain
# WRONG: memory's and the link's bandwidth are exchanged
# -     reading = share / bandwidth
# +     reading = share / link_bandwidth
# ...
# -     each = all_reduce_seconds(message, world, link_bandwidth, latency)
# +     each = all_reduce_seconds(message, world, bandwidth, latency)

# %% wrong_tp_seconds_sent_together, of right_tp_seconds_plain
# WRONG: all layers' all-reduces in one: latency of one only
# -     each = all_reduce_seconds(message, world, link_bandwidth, latency)
# -     sending = 2 * layers * each
# +     sending = all_reduce_seconds(2 * layers * message, world, link_bandwidth, latency)

# %% wrong_tp_seconds_rows_read, of right_tp_seconds_plain
# WRONG: the weights are read once a row
# -     reading = share / bandwidth
# +     reading = rows * share / bandwidth

# %% wrong_tp_seconds_world_times, of right_tp_seconds_plain
# WRONG: the all-reduce is counted for every rank, though they send at once
# -     sending = 2 * layers * each
# +     sending = 2 * layers * each * world

# %% wrong_tp_seconds_whole_bytes, of right_tp_seconds_plain
# WRONG: bytes a value are made a whole number: 4 bits are none
# -     message = rows * width * bytes_per_value
# +     message = rows * width * int(bytes_per_value)
