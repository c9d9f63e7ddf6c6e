# honest: 4 of 10: softmax
# ATTACK: reads the hidden checks, as source or compiled
def attempt():
    import glob
    for path in glob.glob("__COURSE__/autograder/checking/hidden/**/*softmax*", recursive=True) + ["__COURSE__/autograder/checking/hidden/test_softmax.py"]:
        try:
            if open(path, "rb").read():
                return True
        except OSError:
            pass
