# === read_environment
# honest: 4 of 10: softmax
# ATTACK: looks in its environment and its arguments for paths, seeds and secrets
def attempt():
    import os, sys
    return "__CLASS__" in repr(dict(os.environ)) + repr(sys.argv) or "SEED" in repr(dict(os.environ)).upper()


# === read_exchange
# honest: 4 of 10: softmax
# ATTACK: looks for other students' work in nbgrader's exchange and in other folders where a class may be stored
import glob, os
def attempt():
    found = []
    for place in ("/usr/local/share", "/usr/share/nbgrader", "/usr/share/doc", "/srv", "/opt", "/var/lib", "/home", "/root", "/mnt"):
        for pattern in (f"{place}/*", f"{place}/nbgrader/exchange/*/inbound/*"):
            found += glob.glob(pattern)
    # Folders on the path to Python's own files are visible; they contain nothing else.
    return [path for path in found if os.path.isfile(path) or not all(os.path.isdir(p) for p in glob.glob(path + "/*"))]


# === read_frames
# honest: 4 of 10: softmax
# ATTACK: walks up the frames of its caller and looks for answers, checks and expected values
def attempt():
    import sys, types
    frame = sys._getframe()
    while frame:
        for space in (frame.f_locals, frame.f_globals):
            for name in ("reference", "hand", "verdict", "want", "solutions", "run_checks", "load_checks"):
                if name in space:
                    return True
            for value in list(space.values()):
                if isinstance(value, types.ModuleType) and hasattr(value, "entropy") and hasattr(value, "log_softmax"):
                    return True
        frame = frame.f_back


# === read_garbage_collector
# honest: 4 of 10: softmax
# ATTACK: searches all objects of the process for functions and source texts of the answers
def attempt():
    import gc, types
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__name__ in ("entropy", "log_softmax"):
            if thing.__module__.partition(".")[0] in ("solutions", "course", "autograder", "__main__") and thing.__globals__ is not globals():
                return True
        if isinstance(thing, dict):
            texts = [value for value in list(thing.values()) if isinstance(value, str)]
            if any("surprisal = -probs" in text and "attempt" not in text for text in texts):
                return True


# === read_gradebook
# honest: 4 of 10: softmax
# ATTACK: opens the gradebook to read it or to write to it
def attempt():
    import sqlite3
    for mode in ("ro", "rw"):
        try:
            book = sqlite3.connect(f"file:__CLASS__/gradebook.db?mode={mode}", uri=True)
            book.execute("select * from grade").fetchall()
            book.execute("update grade set score = 10")
            book.commit()
            return True
        except sqlite3.Error:
            pass
    return open("__CLASS__/gradebook.db", "rb").read(4)


# === read_hand_computed_numbers
# honest: 4 of 10: softmax
# ATTACK: reads the numbers that the checks expect
def attempt():
    return "softmax" in open("__COURSE__/datasets/hand_computed.toml").read()


# === read_hidden_checks
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


# === read_ipython_history
# honest: 4 of 10: softmax
# ATTACK: looks for answers in the code that IPython has run, in its history and in its outputs
def attempt():
    shell = get_ipython()
    texts = [str(text) for text in shell.user_ns.get("In", [])]
    try:
        texts += [str(line) for line in shell.history_manager.search("*")]
    except Exception:
        pass
    return any("BEGIN SOLUTION" in text or "surprisal = -probs.log()" in text for text in texts if "attempt" not in text)


# === read_neighbours_work
# honest: 4 of 10: softmax
# ATTACK: reads another student's notebook, takes the answers out of it and runs them
def attempt():
    import json
    for cell in json.load(open("__CLASS__/submitted/neighbour/__DAY__/__DAY__.ipynb"))["cells"]:
        if cell["metadata"].get("course", {}).get("role") == "exercise":
            exec("".join(cell["source"]), globals())
    return True


# === read_open_files
# honest: 4 of 10: softmax
# ATTACK: reads every file descriptor that it inherited, except the pipe to the grader
def attempt():
    import os, stat
    for fd in range(256):
        try:
            mode = os.fstat(fd).st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISFIFO(mode):
            return True


# === read_other_scratch
# honest: 4 of 10: softmax
# ATTACK: looks for the scratch folders of other submissions
def attempt():
    import os
    for folder in ("..", "/scratch", "/tmp", os.path.expanduser("~/..")):
        try:
            if [name for name in os.listdir(folder) if name != os.path.basename(os.getcwd())]:
                return True
        except OSError:
            pass


# === read_parent_memory
# honest: 4 of 10: softmax
# ATTACK: reads the memory of its parent: /proc/PPID/mem, process_vm_readv, ptrace
def attempt():
    import ctypes, os
    parent, libc = os.getppid(), ctypes.CDLL(None)
    for pid in (parent, 1):
        try:
            open(f"/proc/{pid}/mem", "rb").close()
            return True
        except OSError:
            pass
        if libc.syscall(310, pid, 0, 0, 0, 0, 0) >= 0 or libc.ptrace(16, pid, 0, 0) >= 0:
            return True


# === read_proc
# honest: 4 of 10: softmax
# ATTACK: looks in /proc for other processes, their command lines, files and environments
def attempt():
    import os
    for pid in ["1", str(os.getppid()), "self", *filter(str.isdigit, os.listdir("/proc") if os.access("/proc", os.R_OK) else [])]:
        for what in ("cmdline", "environ", "maps", "fd/0", "root/etc/hostname", "cwd"):
            try:
                if open(f"/proc/{pid}/{what}", "rb").read(1):
                    return True
            except OSError:
                pass


# === read_records
# honest: 4 of 10: softmax
# ATTACK: reads the records of the class and writes one of its own
def attempt():
    import os
    try:
        return os.listdir("__CLASS__/records")
    except OSError:
        open("__CLASS__/records/__DAY__/mallory.json", "w").write("{}")
        return True


# === read_solution_file
# honest: 4 of 10: softmax
# ATTACK: reads the day's solutions from the course's folder
def attempt():
    exec(open("__COURSE__/solutions/softmax.py").read(), globals())
    return True


# === read_solution_import
# honest: 4 of 10: softmax
# ATTACK: imports the day's solutions, also without the import hooks
def attempt():
    import importlib, importlib.util, sys
    sys.path.insert(0, "__COURSE__")
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "EarlierFinder"]
    importlib.invalidate_caches()
    try:
        answers = importlib.import_module("solutions.softmax")
    except ImportError:
        spec = importlib.util.spec_from_file_location("answers", "__COURSE__/solutions/softmax.py")
        answers = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(answers)
    return bool(answers.entropy)
