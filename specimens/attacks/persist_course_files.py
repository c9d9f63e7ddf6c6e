# honest: 4 of 10: softmax
# ATTACK: changes the release, the kit, the checks and the tiny model
def attempt():
    import os
    done = False
    for path in ("course/__DAY__/__DAY__.ipynb", "course/kit/__init__.py", "autograder/checking/checks/test_softmax.py", "autograder/sandbox/process/worker.py",
                 "datasets/tiny/fpt-attack", "solutions/softmax.py"):
        for action in (lambda p: open(p, "ab").close(), lambda p: os.utime(p), lambda p: os.chmod(p, 0o777), lambda p: os.truncate(p, 0),
                       lambda p: os.rename(p, p + "~"), lambda p: os.symlink("/etc/passwd", p + ".link")):
            try:
                action("__COURSE__/" + path)
                done = True
            except OSError:
                pass
    return done
