# === persist_course_files
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


# === persist_files
# honest: 4 of 10: softmax
# ATTACK: leaves files for the next submission in /tmp, /dev/shm, the home folder and the scratch's parent
def attempt():
    import os
    done = False
    for folder in ("/tmp", "/dev/shm", "/var/tmp", "/scratch", "..", "/run", "/home", "/root", "/dev", "/dev/mqueue"):
        try:
            open(os.path.join(folder, "fpt-attack-file"), "w").write("log_softmax = ...")
            done = True
        except OSError:
            pass
    return done


# === persist_ipython_startup
# honest: 4 of 10: softmax
# ATTACK: leaves startup files, extensions and hooks for the next kernel
import atexit
atexit.register(lambda: open("/tmp/fpt-attack-exit", "w").write("x"))
get_ipython().events.register("post_run_cell", lambda *a: None)
def attempt():
    import os
    for folder in (os.environ.get("IPYTHONDIR", "/tmp/ipython"), os.path.expanduser("~/.ipython"), "/etc/ipython"):
        try:
            os.makedirs(f"{folder}/profile_default/startup", exist_ok=True)
            open(f"{folder}/profile_default/startup/00.py", "w").write("raise SystemExit")
            if not folder.startswith(os.getcwd()):
                return True
        except OSError:
            pass


# === persist_poisoned_modules
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


# === persist_process
# honest: 4 of 10: softmax
# ATTACK: starts a process that outlives it, by fork, spawn, subprocess, multiprocessing and the shell
def attempt():
    import multiprocessing, os, subprocess, sys, time
    ways = [
        lambda: os.fork() or time.sleep(600),
        lambda: os.posix_spawn(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {}),
        lambda: subprocess.Popen(["sleep", "600"], start_new_session=True),
        lambda: multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,)).start(),
        lambda: os.system("sleep 600 &") == 0 or 1 / 0,
    ]
    for way in ways:
        try:
            way()
            return True
        except Exception:
            pass


# === persist_thread
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: leaves threads running that spin and write, daemon threads and others
import threading, time
def spin():
    while True:
        try:
            open("/tmp/fpt-attack-thread", "w").write("still here")
        except OSError:
            pass
        time.sleep(0.05)
for daemon in (True, False):
    threading.Thread(target=spin, daemon=daemon).start()
