# === forge_always_equal
# honest: 4 of 10: softmax
# ATTACK: returns objects that are true, and equal to, larger than and smaller than everything
class Always:
    shape = property(lambda self: self)
    dtype = property(lambda self: self)
    def __getattr__(self, name):
        return self
    def __call__(self, *args, **kwargs):
        return self
    def __eq__(self, other):
        return True
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__
    def __ne__(self, other):
        return False
    def __bool__(self):
        return True
    def __float__(self):
        return 0.0
    def __hash__(self):
        return 0
log_softmax = entropy = lambda x: Always()


# === forge_another_day
# honest: 0 of 10: the notebook says that it is another day's, and is handed back
# ATTACK: labels this day's notebook as that of a day with more points
# %% notebook
notebook["metadata"]["course"]["slug"] = "day05_samplers"


# === forge_check_function
# honest: 4 of 10: softmax
# ATTACK: replaces check, the authoring module and pytest, as if the checks ran here
import sys, types
fake = types.ModuleType("autograder.authoring")
fake.close = fake.equal = fake.that = fake.raises = lambda *a, **k: None
fake.checks = lambda *a, **k: lambda function: function
fake.CheckFailed = type("CheckFailed", (Exception,), {})
sys.modules["autograder.authoring"] = sys.modules["autograder.checking.runner"] = sys.modules["pytest"] = fake
def check(*names, **options):
    return 10.0


# === forge_clock_of_the_loop
# honest: 10 of 10 less test_clock_of_no_number, test_clock_that_runs_back: softmax, log_softmax, entropy
# ATTACK: replaces the event loop's clock, once by one that stays at minus infinity, below every limit, and once by one that runs backwards
import asyncio

async def no_number():
    await asyncio.sleep(60)
    asyncio.get_running_loop().time = lambda: float("-inf")
    yield 1

async def back():
    loop = asyncio.get_running_loop()
    for n in range(3):
        await asyncio.sleep(60)
        loop.time = lambda n=n: 0.5 - n / 8
        yield n
        del loop.time
# %% checks
from autograder.authoring import checks, that

@checks("entropy")
def test_clock_of_no_number(student):
    """an item in less than no time"""
    that(student.no_number.awaited().times[0] < 1, "it took its time")

@checks("entropy")
def test_clock_that_runs_back(student):
    """three items in less than no time"""
    that(student.back.awaited().times[-1] < 1, "they took their time")


# === forge_deleted_cells
# honest: 4 of 10: softmax
# ATTACK: deletes the checks and the unsolved exercises
# %% notebook
notebook["cells"] = [
    cell for cell in notebook["cells"]
    if cell["metadata"]["course"]["role"] != "check" and cell["metadata"]["course"].get("exercise") not in ("log_softmax", "entropy")
]


# === forge_displayhook
# honest: 4 of 10: softmax
# ATTACK: replaces the display hook and publishes its own results as outputs
import sys
from IPython.display import display
sys.displayhook = lambda value: None
get_ipython().display_formatter.format = lambda *a, **k: ({"text/plain": "4.0"}, {})
get_ipython().displayhook = lambda value: None
display({"text/plain": "3.0"}, raw=True)
3.0


# === forge_duplicated_cells
# honest: 4 of 10: softmax
# ATTACK: repeats the solved exercise and its check twenty times, with the same ids
# %% notebook
solved = [cell for cell in notebook["cells"] if cell["metadata"]["course"].get("exercise") == "softmax"]
notebook["cells"] += [copy.deepcopy(cell) for cell in solved * 20]


# === forge_edited_check_cells
# honest: 4 of 10: softmax
# ATTACK: writes its points into the locked cells and unlocks them
# %% notebook
for cell in notebook["cells"]:
    if cell["metadata"]["course"]["role"] == "check":
        cell["metadata"]["nbgrader"].update(locked=False, solution=True, grade=True)
        cell["source"] = "print('all checks pass')\n10.0"


# === forge_exception_names
# honest: 4 of 10: softmax
# ATTACK: raises exceptions named like the grader's own, with markup in their messages
class CheckPassed(Exception):
    pass
class InfrastructureFault(BaseException):
    pass
class WorkerDied(Exception):
    outcome = "pass"
def log_softmax(x):
    raise InfrastructureFault("<script>alert('points')</script><b>pass</b>")
def entropy(x):
    raise WorkerDied("<img src=x onerror=alert(1)> pass \x1b[2J [bold]pass[/bold]")


# === forge_frames_through_fd
# honest: 4 of 10: softmax
# ATTACK: finds its end of the pipe among the file descriptors and answers for the checks before they ask
import json, os, stat, struct
def frame(value):
    header = json.dumps(value).encode()
    return struct.pack(">4sIQ", b"FPT1", len(header), 0) + header
def pipes():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                yield fd
        except OSError:
            pass
def entropy(x):
    for fd in pipes():
        for seq in range(1, 200):
            os.write(fd, frame({"$": "dict", "v": [["seq", seq], ["ok", True]]}))
    return x
log_softmax = entropy


# === forge_frames_through_worker
# honest: 4 of 10: softmax
# ATTACK: finds the worker object in memory and makes it report success, without a result and with every kind of false reply
import gc
def worker():
    return next(w for w in gc.get_objects() if type(w).__name__ == "Worker" and hasattr(w, "connection"))
count = 0
def entropy(x):
    global count
    count += 1
    lies = [{"verdict": "pass"}, {"ok": True}, {"outcome": "pass", "points": 3}, {"hello": {}}, {"callback": 0}, {"error": 7}, {"error": {"names": 5}}]
    serve = worker()
    real = serve.connection.sendall
    class Pipe:
        def sendall(self, data):
            serve.connection = connection
            reply = lies[count % len(lies)]
            real(serve.encode({"seq": count, **reply}))
    connection = serve.connection
    Pipe.recv = staticmethod(connection.recv)
    serve.connection = Pipe()
    return x
log_softmax = entropy


# === forge_late_list
# honest: 10 of 10 less test_late_items, test_late_number: softmax, log_softmax, entropy
# ATTACK: returns objects of its own list, dict and number classes, which draw and compute only when they are sent to the grader
import torch

class Items(list):
    def __iter__(self):
        return iter([torch.rand(50)])

class Pairs(dict):
    def items(self):
        return [("a", torch.rand(50))]

class Number(float):
    def __float__(self):
        return float(torch.rand(()))

def items(kind):
    return Items([torch.zeros(50)]) if kind == "list" else Pairs(a=torch.zeros(50))

def number():
    return Number(0.0)
# %% checks
from autograder.authoring import checks, that

@checks("entropy")
def test_late_items(student):
    """lists and dicts whose items are drawn, and no random state has moved"""
    got = [student.items("list", _rng_unchanged=True)[0], student.items("dict", _rng_unchanged=True)["a"]]
    that(any(each.unique().numel() > 25 for each in got), "they are not drawn")

@checks("entropy")
def test_late_number(student):
    """a number that is drawn, and no random state has moved"""
    that(student.number(_rng_unchanged=True) != 0.0, "it is not drawn")


# === forge_late_tensor
# honest: 10 of 10 less test_late_product, test_late_draw: softmax, log_softmax, entropy
# ATTACK: returns a tensor whose class does the work only when it is sent, after the count and after the check of the random state
import torch

class Late(torch.Tensor):
    def detach(self):
        return self.work()
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))

def late(work, like):
    result = torch.zeros_like(like).as_subclass(Late)
    result.work = work
    return result

def product(x):
    return late(lambda: x @ x, x)

def draw(x):
    return late(lambda: torch.rand(x.shape), x)
# %% checks
import torch
from autograder.authoring import checks, close, that

@checks("entropy")
def test_late_product(student, rng):
    """a product without FLOPs"""
    x = torch.randn(32, 32, generator=rng)
    with student.counting() as work:
        got = student.product(x)
    close(got, x @ x, atol=1e-4)
    that(work.flops == 0, "it was counted")

@checks("entropy")
def test_late_draw(student):
    """random numbers that move no random state"""
    got = student.draw(torch.zeros(100), _rng_unchanged=True)
    that(got.unique().numel() > 50, "they are not drawn")


# === forge_memory_that_grows
# honest: 10 of 10 less test_memory_that_grows: softmax, log_softmax, entropy
# ATTACK: allocates storages of a few bytes and lets them grow to megabytes without the counter noticing
import torch

def total(n):
    small = torch.empty(1)
    small.untyped_storage().resize_(4 * n)
    large = small.as_strided((n,), (1,)).fill_(1.0)
    return float(large.sum())
# %% checks
from autograder.authoring import checks, that

@checks("entropy")
def test_memory_that_grows(student):
    """a million numbers in no memory"""
    with student.counting() as work:
        got = student.total(1_000_000)
    that(got == 1_000_000, "wrong sum")
    that(work.peak_bytes < 1_000_000 and work.largest_bytes < 1_000_000, "it was counted")


# === forge_metadata_nonsense
# honest: 4 of 10: softmax
# ATTACK: replaces metadata by numbers, lists and null, and the format version by text
# %% notebook
for cell, junk in zip(notebook["cells"], itertools.cycle([None, 3, [], {"nbgrader": [], "course": "full marks"}])):
    if cell["metadata"]["course"].get("exercise") != "softmax":
        cell["metadata"] = junk
notebook["nbformat"], notebook["metadata"] = "4", {"kernelspec": {"name": "../../bin/sh"}, "course": []}


# === forge_nan_and_wrong_shapes
# honest: 4 of 10: softmax
# ATTACK: returns nan, empty tensors and tensors that broadcast, in the hope that an empty comparison is true
import torch
log_softmax = lambda x: torch.full(x.shape, float("nan")) if x.dim() > 1 else torch.empty((0, *x.shape))
entropy = lambda x: torch.empty(0) if x.dim() > 1 else torch.full((), float("nan"))


# === forge_no_result
# honest: 4 of 10: softmax
# ATTACK: sends replies without a result, so that the fault looks like the grader's and not like a wrong answer
import gc
worker = next(w for w in gc.get_objects() if type(w).__name__ == "Worker" and hasattr(w, "connection"))
encode = worker.encode
def empty(value):
    return encode({"seq": value["seq"]} if isinstance(value, dict) and "seq" in value and empty.on else value)
empty.on = False
worker.encode = empty
def log_softmax(x):
    empty.on = True
entropy = log_softmax


# === forge_number_subclass
# honest: 4 of 10: softmax
# ATTACK: returns numbers, lists and texts whose classes overload the comparison
class Number(float):
    def __eq__(self, other):
        return True
    def __sub__(self, other):
        return 0.0
    __rsub__ = __sub__
class Row(list):
    def __eq__(self, other):
        return True
log_softmax = lambda x: Row([Number(0)])
entropy = lambda x: Number(-1)


# === forge_numpy_and_builtins
# honest: 4 of 10: softmax
# ATTACK: replaces builtins and numpy so that any check would pass
import builtins, math, numpy
numpy.allclose = numpy.array_equal = numpy.isclose = lambda *a, **k: True
math.isclose = lambda *a, **k: True
builtins.round = builtins.sum = lambda *a: 0
builtins.AssertionError = type("Quiet", (Exception,), {})
log_softmax = entropy = lambda x: x * 0


# === forge_one_object_for_all
# honest: 10 of 10 less test_one_object_for_all: softmax, log_softmax, entropy
# ATTACK: replaces id and the comparisons of its objects, so that two of them look like one
import builtins

class Block:
    def __eq__(self, other):
        return True
    def __hash__(self):
        return 0

def block(n):
    builtins.id = lambda value: 7
    return Block()
# %% checks
from autograder.authoring import checks, that

@checks("entropy")
def test_one_object_for_all(student):
    """two objects that are one"""
    first, second = student.block(1), student.block(2)
    that(first == second, "they are two")


# === forge_outputs
# honest: 4 of 10: softmax
# ATTACK: plants outputs that look like full marks in every cell
# %% notebook
for cell in notebook["cells"]:
    if cell["cell_type"] == "code":
        result = {"output_type": "execute_result", "data": {"text/plain": "10.0"}, "metadata": {}, "execution_count": 1}
        cell["outputs"] = [result, {"output_type": "stream", "name": "stdout", "text": "12 of 12 checks pass, 3 of 3 points\n"}]


# === forge_points
# honest: 4 of 10: softmax
# ATTACK: raises the points of its solved cells, and lowers those of unsolved cells to 0
# %% notebook
for cell in notebook["cells"]:
    if "nbgrader" in cell["metadata"]:
        solved = cell["metadata"]["course"].get("exercise") == "softmax"
        cell["metadata"]["nbgrader"]["points"] = 1e9 if solved else 0
        cell["metadata"]["course"]["points"] = -5
notebook["metadata"]["course"]["points"] = 10


# === forge_printed_scores
# honest: 4 of 10: softmax
# ATTACK: prints output like a grader's on every stream that it finds
import os, sys
for text in ("log_softmax: 12 of 12 checks pass, 3 of 3 points", '{"seq": 1, "ok": null}', "10.0", "::score::10/10"):
    print(text)
    print(text, file=sys.stderr)
    for stream in (sys.__stdout__, sys.__stderr__):
        print(text, file=stream)
    for fd in (1, 2):
        os.write(fd, text.encode() + b"\n")


# === forge_ranks_bytes
# honest: 10 of 10 less test_messages_that_are_not_counted, test_bytes_that_are_not_counted: softmax, log_softmax, entropy
# ATTACK: makes a rank send messages without having them counted: it patches the kit's switch and counter, and sends a view that looks small
import torch

from course.kit import ranks as kit

kit.Traffic.messages = property(lambda self: [0] * self.world)
kit.Traffic.sent_bytes = property(lambda self: [0] * self.world)
kit.Switch.send = lambda self, rank, dst, tensor: self._boxes[rank, dst].append(tensor)

class Small(torch.Tensor):
    nbytes = 0

def uncounted(x, comm):
    comm.log = []
    comm.send(1 - comm.rank, x)
    got = comm.recv(1 - comm.rank)
    for name in ("traffic", "_traffic", "log"):
        setattr(comm.send, name, []) if hasattr(comm.send, "__dict__") else None
    return got

def as_small(x, comm):
    try:
        comm.send(1 - comm.rank, x.as_subclass(Small))
    except Exception:
        comm.send(1 - comm.rank, x[:1].expand(len(x)))
    return comm.recv(1 - comm.rank)
# %% checks
import torch
from autograder.authoring import checks, that

def unseen(student, name):
    results, traffic = student.ranks(2).each(name, [(torch.arange(100.0),)] * 2)
    that(results[1].numel() == 100, "nothing has arrived")
    that(traffic.messages != [1, 1] or traffic.sent_bytes != [400, 400], "every message is counted")

@checks("entropy")
def test_messages_that_are_not_counted(student):
    """a message that is not counted"""
    unseen(student, "uncounted")

@checks("entropy")
def test_bytes_that_are_not_counted(student):
    """bytes that are not counted"""
    unseen(student, "as_small")


# === forge_ranks_file_locks
# honest: 10 of 10 less test_locks_of_a_range, test_locks_of_files: softmax, log_softmax, entropy
# ATTACK: passes a number from one rank to another without a message: by the place of a lock in a file that both may read, and by the choice of locked files
import fcntl, glob, os, struct

LOCK, kept = "hhqqi4x", []
FILES = sorted(glob.glob(os.path.dirname(os.__file__) + "/*.py"))[:16]

def by_range(number, comm):
    file = open(FILES[0], "rb")
    kept.append(file)
    if comm.rank == 0:
        fcntl.lockf(file, fcntl.LOCK_SH, 1, number)
        return number
    asked = struct.pack(LOCK, fcntl.F_WRLCK, 0, 0, 0, 0)
    return struct.unpack(LOCK, fcntl.fcntl(file, fcntl.F_GETLK, asked))[2]

def by_files(number, comm):
    files = [open(path, "rb") for path in FILES]
    kept.extend(files)
    told = 0
    for bit, file in enumerate(files):
        if comm.rank == 0 and number >> bit & 1:
            fcntl.flock(file, fcntl.LOCK_EX)
        if comm.rank == 1:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                told += 1 << bit
    return told
# %% checks
import torch
from autograder.authoring import checks, that

def told(student, name, rng):
    number = int(torch.randint(1, 2**16, (), generator=rng))
    results, traffic = student.ranks(2).each(name, [(number,), (0,)])
    that(results[1] == number and not traffic.log, "it has not heard of it")

@checks("entropy")
def test_locks_of_a_range(student, rng):
    """a number that comes by the place of a lock"""
    told(student, "by_range", rng)

@checks("entropy")
def test_locks_of_files(student, rng):
    """a number that comes by which files are locked"""
    told(student, "by_files", rng)


# === forge_ranks_marks_of_a_process
# honest: 10 of 10 less test_marks_of_threads, test_marks_in_files: softmax, log_softmax, entropy
# ATTACK: passes a number from one rank to another without a message: by the processors its threads are bound to, and by files, pipes and sockets
import os, socket, threading

stop = threading.Event()

def by_threads(number, comm):
    if comm.rank == 0:
        ready = threading.Barrier(9)
        def bound(cpu):
            os.sched_setaffinity(0, {cpu})
            ready.wait()
            stop.wait()
        cpus = sorted(os.sched_getaffinity(0))
        for bit in range(8):
            threading.Thread(target=bound, args=(cpus[number >> bit & 1],), daemon=True).start()
        ready.wait()
        return number
    told = []
    for task in range(1, 2000):
        try:
            found = os.sched_getaffinity(task)
        except OSError:
            continue
        if len(found) == 1 and os.getpgid(task) != os.getpgid(0):
            told.append(min(found))
    low = min(os.sched_getaffinity(0))
    return sum((cpu != low) << bit for bit, cpu in enumerate(told[-8:]))

def by_files(number, comm):
    told = -1
    for folder in ("/tmp", "/dev/shm", "/var/tmp", os.path.dirname(os.getcwd()), os.path.dirname(os.path.dirname(os.getcwd())), "/scratch"):
        path = os.path.join(folder, "fpt-attack-number")
        try:
            if comm.rank == 0:
                open(path, "w").write(str(number))
                os.chmod(path, 0o777)
            else:
                told = int(open(path).read())
        except OSError:
            pass
    try:
        talk = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if comm.rank == 0:
            stop.socket = talk
            talk.bind("\0fpt-attack-number")
        else:
            talk.connect("\0fpt-attack-number")
            told = number
    except OSError:
        pass
    return told
# %% checks
import torch
from autograder.authoring import checks, that

def told(student, name, rng):
    number = int(torch.randint(1, 2**8, (), generator=rng))
    results, traffic = student.ranks(2).each(name, [(number,), (0,)])
    that(results[1] == number and not traffic.log, "it has not heard of it")

@checks("entropy")
def test_marks_of_threads(student, rng):
    """a number that comes by what threads are bound to"""
    told(student, "by_threads", rng)

@checks("entropy")
def test_marks_in_files(student, rng):
    """a number that comes by files, pipes and sockets"""
    told(student, "by_files", rng)


# === forge_ranks_shared_globals
# honest: 10 of 10 less test_number_in_a_global, test_number_in_the_kit: softmax, log_softmax, entropy
# ATTACK: passes a number from one rank to another without a message: through a global variable, and through modules that both have imported
import builtins, os, sys

import torch

SHARED = {}

def by_global(number, comm):
    if comm.rank == 0:
        SHARED["number"] = number
    return SHARED.get("number", -1)

def by_modules(number, comm):
    from course.kit import ranks

    if comm.rank == 0:
        for place in (builtins, sys, torch, ranks, ranks.Communicator):
            place.number = number
        os.environ["NUMBER"] = str(number)
        return number
    told = [getattr(place, "number", -1) for place in (builtins, sys, torch, ranks, ranks.Communicator)]
    return max(*told, int(os.environ.get("NUMBER", -1)))
# %% checks
import torch
from autograder.authoring import checks, that

def told(student, name, rng):
    number = int(torch.randint(1, 2**16, (), generator=rng))
    results, traffic = student.ranks(2).each(name, [(number,), (0,)])
    that(results[1] == number and not traffic.log, "it has not heard of it")

@checks("entropy")
def test_number_in_a_global(student, rng):
    """a number in a global variable"""
    told(student, "by_global", rng)

@checks("entropy")
def test_number_in_the_kit(student, rng):
    """a number in what both ranks import"""
    told(student, "by_modules", rng)


# === forge_renamed_cells
# honest: 4 of 10: softmax
# ATTACK: gives the solved exercise's identity to the others' cells: ids, grade ids and exercise names
# %% notebook
solved = [cell for cell in notebook["cells"] if cell["metadata"]["course"].get("exercise") == "softmax"]
for cell in notebook["cells"]:
    if cell["metadata"]["course"].get("exercise") in ("log_softmax", "entropy"):
        twin = next(c for c in solved if c["metadata"]["course"]["role"] == cell["metadata"]["course"]["role"])
        cell["id"], cell["metadata"] = twin["id"], copy.deepcopy(twin["metadata"])


# === forge_retyped_cells
# honest: 4 of 10: softmax
# ATTACK: turns checks into text, text into code, and code into cells of unknown kinds
# %% notebook
for cell in notebook["cells"]:
    if cell["metadata"]["course"]["role"] == "check":
        cell["cell_type"] = "markdown"
    elif cell["cell_type"] == "markdown":
        cell["cell_type"] = "points"


# === forge_setup_cell
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: rewrites the setup cell to replace functions of earlier days, torch and check by its own. The course's setup cell runs instead: nothing is gained or lost.
# %% notebook
for cell in notebook["cells"]:
    if cell["metadata"]["course"]["role"] == "setup":
        cell["source"] = "import sys, types\nsys.modules['torch'] = types.ModuleType('torch')\nraise SystemExit(0)"


# === forge_steps_of_a_story
# honest: 10 of 10 less test_steps_of_a_story, test_steps_behind_an_error: softmax, log_softmax, entropy
# ATTACK: in a batch of calls, raises an exception that claims the call was skipped, and makes the worker forget that a call raised
import gc

class NotPlayed(Exception):
    pass

def worker():
    return next(w for w in gc.get_objects() if type(w).__name__ == "Worker" and hasattr(w, "connection"))

def take(n):
    serve = worker()
    serve.results = dict.fromkeys(range(100), n)
    type(serve).raised = property(lambda self: False, lambda self, value: None)
    type(serve).lacking = property(lambda self: False, lambda self, value: None)
    raise NotPlayed("not played")

def same(n):
    return n
# %% checks
from autograder.authoring import checks, that
from autograder.sandbox.protocol.batch import CallBatch

@checks("entropy")
def test_steps_of_a_story(student):
    """a step that raises and passes for one that was not played"""
    story = CallBatch()
    story.call("take", 1)
    [outcome] = student.play(story)
    that(not outcome.played and outcome.error is None, "it was played, and raised")

@checks("entropy")
def test_steps_behind_an_error(student):
    """an answer that leans on a step that raised"""
    story = CallBatch()
    taken = story.call("take", 1)
    story.call("same", taken)
    outcomes = student.play(story, stop=False)
    that(outcomes[1].played and outcomes[1].value == 1, "it was not played")


# === forge_tensor_subclass
# honest: 4 of 10: softmax
# ATTACK: returns a Tensor subclass whose comparisons and differences always favour it
import torch
class Agreeable(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in ("eq", "__eq__", "isclose", "allclose", "equal", "all"):
            return torch.ones((), dtype=torch.bool)
        return super().__torch_function__(function, types, args, kwargs or {})
log_softmax = lambda x: torch.zeros(x.shape, dtype=x.dtype).as_subclass(Agreeable)
entropy = lambda x: torch.full(x.shape[:-1], -1.0, dtype=x.dtype).as_subclass(Agreeable)


# === forge_torch
# honest: 4 of 10: softmax
# ATTACK: replaces torch's comparisons so that any two tensors are close
import torch
yes = lambda *a, **k: True
torch.equal = torch.allclose = yes
torch.isclose = lambda a, b, **k: torch.ones_like(a, dtype=torch.bool)
torch.testing.assert_close = lambda *a, **k: None
torch.Tensor.__eq__ = lambda a, b: torch.ones(a.shape, dtype=torch.bool)
torch.Tensor.all = torch.Tensor.any = yes
torch.Tensor.isnan = lambda a: torch.zeros(a.shape, dtype=torch.bool)
log_softmax = entropy = lambda x: x * 0


# === forge_unchanged_arguments
# honest: 10 of 10 less test_entropy_leaves_input, test_entropy_input_random: softmax, log_softmax, entropy
# ATTACK: changes its argument in place and replaces every comparison in the worker that might notice the change
# %% last
import torch
import autograder.sandbox.process.worker as worker
worker.same = lambda *a: True
worker.snapshot = lambda value: value
torch.equal = torch.Tensor.equal = lambda *a: True
torch.get_rng_state = lambda: torch.zeros(8, dtype=torch.uint8)
def entropy(probs):
    kept = probs.clone()
    probs.zero_()
    return torch.special.entr(kept).sum(dim=-1)


# === forge_work_in_a_thread
# honest: 10 of 10 less test_work_in_a_thread: softmax, log_softmax, entropy
# ATTACK: does the counted work in another thread, in a few milliseconds
import threading

def products(x):
    results = []
    def run():
        for _ in range(60):
            results.append(x @ x)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[-1]
# %% checks
import torch
from autograder.authoring import checks, close, that

@checks("entropy")
def test_work_in_a_thread(student, rng):
    """sixty products without FLOPs"""
    x = torch.randn(128, 128, generator=rng)
    with student.counting() as work:
        got = student.products(x)
    close(got, x @ x, atol=1e-3)
    that(work.flops == 0, "it was counted")


# === forge_work_while_sending
# honest: 10 of 10 less test_work_while_sending: softmax, log_softmax, entropy
# ATTACK: replaces the method with which the worker serializes a tensor, so that the work happens after the call, when the result is converted to bytes
import torch

work = {}
real = torch.Tensor.detach
def detach(self):
    late = work.pop(self.data_ptr(), None)
    return real(self if late is None else late())
torch.Tensor.detach = detach

def product(x):
    result = torch.zeros_like(x)
    work[result.data_ptr()] = lambda: x @ x
    return result
# %% checks
import torch
from autograder.authoring import checks, close, that

@checks("entropy")
def test_work_while_sending(student, rng):
    """a product without FLOPs"""
    x = torch.randn(32, 32, generator=rng)
    with student.counting() as work:
        got = student.product(x)
    close(got, x @ x, atol=1e-4)
    that(work.flops == 0, "it was counted")
