# honest: 0 of 10: a device is not read
# ATTACK: the notebook is /dev/zero: a device file where the machine lets one be made, else a link to it
# %% file
try:
    os.mknod(path, 0o644 | stat.S_IFCHR, os.makedev(1, 5))
except OSError:
    path.symlink_to("/dev/zero")
