# Versions of pipeline_bubble, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_pipeline_bubble_plain
# RIGHT: idle over all; most of the wrong versions are edits of it

def pipeline_bubble(stages, microbatches):
    idle = stages - 1
    times = microbatches + stages - 1
    return idle / times

# %% right_pipeline_bubble_busy
# RIGHT: what is left of the busy share

def pipeline_bubble(stages, microbatches):
    return 1 - microbatches / (microbatches + stages - 1)

# %% right_pipeline_bubble_counted
# RIGHT: idle cells of the table of stages and times

def pipeline_bubble(stages, microbatches):
    times = range(stages + microbatches - 1)
    cells = [0 <= time - stage < microbatches for time in times for stage in range(stages)]
    return cells.count(False) / len(cells)

# %% wrong_pipeline_bubble_over_busy, of right_pipeline_bubble_plain
# WRONG: idle time over busy time, not over all: more than 1 with few microbatches
# -     times = microbatches + stages - 1
# +     times = microbatches

# %% wrong_pipeline_bubble_stages_too_many, of right_pipeline_bubble_plain
# WRONG: m + p times: one too many
# -     times = microbatches + stages - 1
# +     times = microbatches + stages

# %% wrong_pipeline_bubble_idle_of_all, of right_pipeline_bubble_plain
# WRONG: p idle times: each stage does work
# -     idle = stages - 1
# +     idle = stages

# %% wrong_pipeline_bubble_busy_share, of right_pipeline_bubble_plain
# WRONG: the busy share
# -     return idle / times
# +     return 1 - idle / times

# %% wrong_pipeline_bubble_percent, of right_pipeline_bubble_plain
# WRONG: per cent, not a share
# -     return idle / times
# +     return 100 * idle / times

# %% wrong_pipeline_bubble_whole, of right_pipeline_bubble_plain
# WRONG: divided without a remainder
# -     return idle / times
# +     return idle // times

# %% wrong_pipeline_bubble_exchanged, of right_pipeline_bubble_plain
# WRONG: stages and microbatches are exchanged
# -     idle = stages - 1
# +     idle = microbatches - 1

# %% wrong_pipeline_bubble_both_ends, of right_pipeline_bubble_plain
# WRONG: filling and draining counted apart: twice the idle time
# -     return idle / times
# +     return 2 * idle / (microbatches + 2 * idle)

# %% wrong_pipeline_bubble_product, of right_pipeline_bubble_plain
# WRONG: over all cells of the table, though idle is of one stage
# -     return idle / times
# +     return idle / (times * stages)

# %% wrong_pipeline_bubble_one_less, of right_pipeline_bubble_plain
# WRONG: m - 1 microbatches
# -     times = microbatches + stages - 1
# +     times = max(microbatches - 1, 1) + stages - 1

# %% wrong_pipeline_bubble_rounded, of right_pipeline_bubble_plain
# WRONG: rounded to two places
# -     return idle / times
# +     return round(idle / times, 2)

# %% wrong_pipeline_bubble_zero_at_few, of right_pipeline_bubble_plain
# WRONG: no bubble where there are as many microbatches as stages
# -     return idle / times
# +     return idle / times if microbatches < stages else 0.0
