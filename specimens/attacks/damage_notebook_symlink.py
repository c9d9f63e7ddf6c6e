# honest: 0 of 10: a link is not read
# ATTACK: the notebook is a symbolic link to the neighbour's
# %% file
path.symlink_to(neighbour)
