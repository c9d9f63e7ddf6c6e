# honest: 0 of 10: a link is not read
# ATTACK: the notebook is a symbolic link out of the folder, to a file of the machine
# %% file
path.symlink_to("/etc/passwd")
