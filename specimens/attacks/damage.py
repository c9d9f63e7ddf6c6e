# === damage_attributes
# honest: 10 of 10 less test_attribute_that_loops, test_attribute_that_exits, test_item_of_another_class: softmax, log_softmax, entropy
# ATTACK: returns objects that run code when an attribute or item is read or set: the code loops, ends the process, or changes their class
import os

class Object:
    def __setattr__(self, name, value):
        while name == "loops":
            pass
        if name == "exits":
            os._exit(0)
        object.__setattr__(self, name, value)
    def __setitem__(self, key, value):
        self.__class__ = type("Other", (Object,), {"__getattr__": lambda self, name: self, "__iter__": lambda self: self, "__next__": lambda self: self})
    def __eq__(self, other):
        return True

def made(n):
    return Object()
# %% checks
from autograder.authoring import checks, equal

@checks("entropy")
def test_attribute_that_loops(student):
    """an attribute that is never set"""
    student.made(1).loops = 1

@checks("entropy")
def test_attribute_that_exits(student):
    """an attribute that ends the process"""
    student.made(1).exits = 1

@checks("entropy")
def test_item_of_another_class(student):
    """an object that becomes another, which answers everything with itself"""
    thing = student.made(1)
    thing[0] = 1
    equal([each for _, each in zip(range(3), thing)], [1, 2, 3])


# === damage_closes_descriptors
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: closes all of its file descriptors, including the pipe to the grader. The cell is left out, the rest counts.
import os
os.closerange(0, 256)


# === damage_deep_folders
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: nests folders deeper than any path may be
import os
for _ in range(3_000):
    os.mkdir("d")
    os.chdir("d")


# === damage_deep_recursion
# honest: 7 of 10: softmax, log_softmax
# ATTACK: recurses without end, with the interpreter's own limit removed
import sys
sys.setrecursionlimit(10**9)
def entropy(probs):
    return entropy(probs)


# === damage_deep_result
# honest: 7 of 10: softmax, log_softmax
# ATTACK: returns a deeply nested list, and a list that contains itself
def entropy(probs):
    deep = []
    if probs.dim() == 1:
        deep.append(deep)
        return deep
    for _ in range(100_000):
        deep = [deep]
    return deep


# === damage_descriptor_bomb
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: opens files and pipes until no descriptor is left
import os
held = []
try:
    while True:
        held += os.pipe()
except OSError:
    for fd in held[-40:]:
        os.close(fd)


# === damage_disk_bomb
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: fills the disk with large files
for number in range(1_000):
    with open(f"large-{number}", "wb") as file:
        try:
            for _ in range(64):
                file.write(bytes(1 << 20))
        except OSError:
            pass


# === damage_empty_shape
# honest: 7 of 10: softmax, log_softmax
# ATTACK: returns tensors without values whose shape is twenty million by zero: as a list, such a tensor is twenty million lists
import torch
def entropy(probs):
    if probs.dim() == 1:
        return torch.empty(20_000_000, 0)
    return [torch.empty(900_000, 0)] * 500


# === damage_endless_object
# honest: 7 of 10: softmax, log_softmax
# ATTACK: returns objects that never end: an iterator, a list of endless length, a false length
import itertools
class Endless(list):
    def __iter__(self):
        return itertools.repeat(0.0)
    def __len__(self):
        return 2**62
def entropy(probs):
    return itertools.repeat(0.0) if probs.dim() == 1 else Endless()


# === damage_exit_in_call
# honest: 7 of 10: softmax, log_softmax
# ATTACK: ends its process in every call, with exit status 0
import os
def entropy(probs):
    os._exit(0)


# === damage_fork_bomb
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: starts a fork bomb
import os
while True:
    try:
        os.fork()
    except OSError:
        break


# === damage_hidden_memory
# honest: 4 of 10: softmax
# ATTACK: takes memory that might not count against a limit: memfd, shared mappings, pipes
def attempt():
    import ctypes, mmap, os
    try:
        fd = os.memfd_create("attack")
        os.write(fd, bytes(1 << 20))
        return True
    except OSError:
        pass
    maps = []
    try:
        for _ in range(64):
            maps.append(mmap.mmap(-1, 1 << 27))
            maps[-1].write(bytes(1))
    except (OSError, MemoryError):
        return False
    return True


# === damage_huge_integer
# honest: 7 of 10: softmax, log_softmax
# ATTACK: returns an integer of a billion digits
def entropy(probs):
    return 10 ** 10 ** 9


# === damage_huge_messages
# honest: 7 of 10: softmax, log_softmax
# ATTACK: raises exceptions with endless names, with messages of 100 MB, and with a text that raises
class Unreadable(Exception):
    def __str__(self):
        raise self
Long = type("x" * 1_000_000, (Exception,), {})
def entropy(probs):
    if probs.dim() == 1:
        raise Unreadable
    raise Long("<b>" * 30_000_000) if probs.dim() == 2 else ValueError("\ud800" * 1000)


# === damage_huge_result
# honest: 7 of 10: softmax, log_softmax
# ATTACK: returns tensors of gigabytes, real ones and expanded ones, and millions of small values
import torch
def entropy(probs):
    if probs.dim() == 1:
        return torch.zeros(1).expand(1 << 30)
    return torch.zeros(1 << 27) if probs.dim() == 2 else [0] * 3_000_000


# === damage_ignored_signals
# honest: 7 of 10: softmax, log_softmax
# ATTACK: ignores every signal that can be ignored, catches every exception, and runs forever
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
def entropy(probs):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


# === damage_kill_everybody_it_can_name
# honest: 4 of 10: softmax
# ATTACK: sends signals to every possible process number, and to threads of other processes
def attempt():
    import ctypes, os
    libc, me = ctypes.CDLL(None), os.getpid()
    return any(libc.kill(pid, 0) == 0 or libc.syscall(200, pid, 15) == 0 for pid in range(1, 40_000) if pid != me)


# === damage_kill_own_group
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: kills its own process group from an added cell. The cell is left out, the rest counts.
import os, signal
try:
    os.killpg(0, signal.SIGKILL)
except OSError:
    os.kill(os.getpid(), signal.SIGKILL)


# === damage_kill_parent
# honest: 4 of 10: softmax
# ATTACK: kills its parent, its group, its session and every process it can reach
def attempt():
    import os, signal
    done = False
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
        for kill in (lambda: os.kill(os.getppid(), number), lambda: os.kill(1, number), lambda: os.kill(-1, number)):
            try:
                kill()
                done = True
            except OSError:
                pass
    return done


# === damage_loop
# honest: 10 of 10 less test_tasks_that_stay, test_loop_taken_down, test_loop_of_another_kind: softmax, log_softmax, entropy
# ATTACK: leaves tasks that refuse cancellation and create more of themselves, closes its own event loop, and replaces it by a real one
import asyncio, threading, time

async def again():
    while True:
        try:
            asyncio.ensure_future(again())
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            pass

async def stays():
    asyncio.ensure_future(again())
    await asyncio.sleep(0)
    return 1

async def taken_down():
    loop = asyncio.get_running_loop()
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.stop()
    loop._ready.clear()
    loop._scheduled.clear()
    await asyncio.sleep(1)

asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())

async def another_kind():
    asyncio._set_running_loop(None)
    loop = asyncio.SelectorEventLoop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    time.sleep(600)
# %% checks
from autograder.authoring import checks, equal

@checks("entropy")
def test_tasks_that_stay(student):
    """a coroutine that leaves behind what refuses to end"""
    equal(student.stays.awaited().result, 1)

@checks("entropy")
def test_loop_taken_down(student):
    """a coroutine that closes its loop"""
    student.taken_down.awaited()

@checks("entropy")
def test_loop_of_another_kind(student):
    """a coroutine that runs a loop with sockets, and sleeps"""
    student.another_kind.awaited()


# === damage_loop_at_definition
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: adds a cell that does not end
while True:
    pass


# === damage_loop_in_call
# honest: 7 of 10: softmax, log_softmax
# ATTACK: runs a function that does not end
def entropy(probs):
    while True:
        pass


# === damage_many_deaths
# honest: 4 of 10: softmax
# ATTACK: adds sixty cells that each end the process, so sixty workers would rerun all cells before them. After twenty workers the grader skips the remaining cells and counts the earlier definitions.
# %% notebook
end = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": "import os\nos._exit(0)"}
notebook["cells"] += [{**end, "id": f"end{number}"} for number in range(60)]


# === damage_many_files
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: creates files and folders without end
import os
number = 0
while True:
    number += 1
    try:
        os.mkdir(f"d{number}")
        open(f"d{number}/f", "w").close()
    except OSError:
        break


# === damage_many_small_values
# honest: 7 of 10: softmax, log_softmax
# ATTACK: returns more small values than an answer may have: 150,000 empty lists, and dicts with as many keys of two kinds
def entropy(probs):
    if probs.dim() == 1:
        return [[] for _ in range(150_000)]
    if probs.shape[-1] % 2:
        return {str(n): n for n in range(150_000)}
    return {(str(n), "x" * 20): [] for n in range(150_000)}


# === damage_memory_bomb
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: allocates all memory, in bytes and in tensors, and touches it
import torch
kept = []
while True:
    kept.append(torch.ones(1 << 24))
    kept.append(bytearray(1 << 26))


# === damage_memory_bomb_in_call
# honest: 7 of 10: softmax, log_softmax
# ATTACK: allocates all memory in every call
def entropy(probs):
    kept = []
    while True:
        kept.append(bytes(1 << 28))


# === damage_notebook_10000_cells
# honest: 0 of 10: a notebook of more than 2,000 cells is handed back
# ATTACK: hands in a notebook of 10,000 cells
# %% notebook
empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": "x = 1"}
notebook["cells"] += [{**empty, "id": f"c{number}"} for number in range(10_000)]


# === damage_notebook_50_mb
# honest: 0 of 10: a file of 50 MB is not read; the record says so
# ATTACK: hands in a notebook of 50 MB
# %% file
notebook["cells"][0]["source"] = "x" * 50_000_000
path.write_text(json.dumps(notebook))


# === damage_notebook_brackets
# honest: 0 of 10: no notebook holds six million lists
# ATTACK: hands in a notebook under the size limit whose JSON holds six million empty lists
# %% file
path.write_text('{"cells": [' + "[]," * 6_000_000 + '[]], "metadata": {}}')


# === damage_notebook_device
# honest: 0 of 10: a device is not read
# ATTACK: makes the notebook /dev/zero: a device file if the machine allows one, otherwise a link to it
# %% file
try:
    os.mknod(path, 0o644 | stat.S_IFCHR, os.makedev(1, 5))
except OSError:
    path.symlink_to("/dev/zero")


# === damage_notebook_fifo
# honest: 0 of 10: a pipe is not read
# ATTACK: makes the notebook a named pipe, which blocks its reader
# %% file
os.mkfifo(path)


# === damage_notebook_long_cell
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: adds a cell of 5 MB, and a function with a name of a million letters. The cell is left out, the rest counts.
# %% notebook
long = {"cell_type": "code", "id": "long", "metadata": {}, "outputs": [], "execution_count": None}
notebook["cells"] += [{**long, "source": "x = 1\n" * 900_000}, {**long, "id": "name", "source": "def " + "f" * 900_000 + "(): pass"}]


# === damage_notebook_not_utf8
# honest: 0 of 10: text that is no UTF-8 is not read
# ATTACK: hands in a notebook with bytes that are not UTF-8
# %% file
path.write_bytes(json.dumps(notebook).encode().replace(b"softmax", b"soft\xff\xfe\xc3max"))


# === damage_notebook_surrogates
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: puts lone surrogates and control characters into sources, ids and metadata
# %% notebook
odd = {"cell_type": "code", "id": "\ud800", "metadata": {"\udfff": "\u0000"}, "outputs": [], "execution_count": None}
notebook["cells"] += [{**odd, "source": "x = '\ud800\u0000'"}]


# === damage_notebook_symlink
# honest: 0 of 10: a link is not read
# ATTACK: makes the notebook a symbolic link to the neighbour's
# %% file
path.symlink_to(neighbour)


# === damage_notebook_symlink_out
# honest: 0 of 10: a link is not read
# ATTACK: makes the notebook a symbolic link to a file of the machine, outside the folder
# %% file
path.symlink_to("/etc/passwd")


# === damage_output_bomb
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: prints without end
while True:
    print("x" * 100_000, flush=True)


# === damage_output_in_call
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: prints hundreds of megabytes in every call, and answers correctly. The output of graded calls is dropped.
import functools, sys
def loud(function):
    def call(x):
        for _ in range(20):
            sys.stdout.write("x" * 1_000_000)
        return function(x)
    return call
# %% last
entropy = loud(entropy)


# === damage_pins_the_grader
# honest: 4 of 10: softmax
# ATTACK: pins every process it can name to one processor, including its parent, which starts all later submissions, and slows them by leases
import ctypes, fcntl, os
def attempt():
    done = 0
    for pid in {os.getppid(), 1, 2, *range(max(os.getpid() - 50, 1), os.getpid())}:
        if pid != os.getpid():
            try:
                os.sched_setaffinity(pid, {0})
                done += 1
            except OSError:
                pass
    try:
        file = os.open("__COURSE__/course/kit/__init__.py", os.O_RDONLY)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        done += 1
    except OSError:
        pass
    return done


# === damage_protocol_colliding_keys
# honest: 7 of 10: softmax, log_softmax
# ATTACK: returns a dict of 200,000 numbers that all have the same hash, which takes hours to read
import gc, json, struct
worker = next(w for w in gc.get_objects() if type(w).__name__ == "Worker" and hasattr(w, "connection"))
def entropy(probs):
    step = 2**61 - 1
    pairs = ",".join('[{"$":"int","v":"%d"},0]' % (n * step) for n in range(1, 200_001))
    header = ('{"$":"dict","v":[["seq",1],["ok",{"$":"dict","v":[%s]}]]}' % pairs).encode()
    worker.connection.sendall(struct.pack(">4sIQ", b"FPT1", len(header), 0) + header)


# === damage_protocol_drip
# honest: 7 of 10: softmax, log_softmax
# ATTACK: announces a large answer and sends it byte by byte, so that data always arrives
import os, stat, struct, time
def is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False
def entropy(probs):
    fd = next(filter(is_socket, range(3, 256)))
    os.write(fd, struct.pack(">4sIQ", b"FPT1", 1 << 20, 1 << 25))
    while True:
        os.write(fd, b" ")
        time.sleep(0.01)


# === damage_protocol_flood
# honest: 7 of 10: softmax, log_softmax
# ATTACK: sends valid frames without end: calls of callbacks that were never passed, answers to requests that were never sent
import gc
worker = next(w for w in gc.get_objects() if type(w).__name__ == "Worker" and hasattr(w, "connection"))
def entropy(probs):
    while True:
        worker.connection.sendall(worker.encode({"callback": 1, "method": "__call__", "args": [], "kwargs": {}, "grad": False}))
        worker.connection.sendall(worker.encode({"seq": 1, "ok": probs}))


# === damage_protocol_inflation
# honest: 7 of 10: softmax, log_softmax
# ATTACK: sends a frame in which 5,000 tensors all name the same 16 megabytes: 80 gigabytes once it is read
import gc, json, struct
worker = next(w for w in gc.get_objects() if type(w).__name__ == "Worker" and hasattr(w, "connection"))
def entropy(probs):
    size = 1 << 24
    tensor = {"$": "tensor", "dtype": "uint8", "shape": [size], "at": 0, "n": size}
    header = json.dumps({"$": "dict", "v": [["seq", 1], ["ok", [tensor] * 5_000]]}).encode()
    worker.connection.sendall(struct.pack(">4sIQ", b"FPT1", len(header), size) + header + bytes(size))


# === damage_protocol_lengths
# honest: 7 of 10: softmax, log_softmax
# ATTACK: writes frames with false lengths to the pipe, or half of a frame, or no frame
import os, stat, struct
frames = [
    struct.pack(">4sIQ", b"FPT1", 2**32 - 1, 2**63), struct.pack(">4sIQ", b"FPT1", 10, 0) + b"{", b"GET / HTTP/1.1\r\n\r\n", b"FPT1",
    struct.pack(">4sIQ", b"FPT1", 4 << 20, 0) + b"[" * (4 << 20), struct.pack(">4sIQ", b"FPT1", 4, 0) + b"\xff\xfe\xfd\xfc",
]
def entropy(probs):
    fd = next(fd for fd in range(3, 256) if os.path.lexists(f"/proc/self/fd/{fd}") or is_socket(fd))
    os.write(fd, frames[probs.numel() % len(frames)])
    os._exit(0)
def is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False


# === damage_protocol_many_values
# honest: 7 of 10: softmax, log_softmax
# ATTACK: writes frames to the pipe that hold three million empty lists, and a tensor without values whose shape is twenty million by zero
import gc, struct
worker = next(w for w in gc.get_objects() if type(w).__name__ == "Worker" and hasattr(w, "connection"))
def entropy(probs):
    lists = b",".join([b"[]"] * 2_500_000)
    empty = b'{"$":"tensor","dtype":"float32","shape":[20000000,0],"at":0,"n":0,"grad":false}'
    answer = b"[%s]" % lists if probs.dim() == 1 else empty
    header = b'{"$":"dict","v":[["seq",1],["ok",%s]]}' % answer
    worker.connection.sendall(struct.pack(">4sIQ", b"FPT1", len(header), 0) + header)


# === damage_ranks_flood
# honest: 10 of 10 less test_flood_of_large_messages, test_flood_of_small_messages: softmax, log_softmax, entropy
# ATTACK: makes a rank send messages without end that no rank receives, large ones and empty ones, and ignore refusals
import torch

def flood(x, comm):
    while True:
        try:
            comm.send(1 - comm.rank, x)
        except RuntimeError:
            pass
# %% checks
import torch
from autograder.authoring import checks

@checks("entropy")
def test_flood_of_large_messages(student):
    """messages of 3.6 MB without end"""
    student.ranks(2).each("flood", [(torch.zeros(900_000),)] * 2)

@checks("entropy")
def test_flood_of_small_messages(student):
    """empty messages without end"""
    student.ranks(2).each("flood", [(torch.zeros(0),)] * 2)


# === damage_ranks_kept_communicator
# honest: 10 of 10 less test_kept_communicator: softmax, log_softmax, entropy
# ATTACK: makes a rank store its communicator and wait, in a later call, for a message of an earlier call, which never arrives
kept = []

class Object:
    pass

def keep(x, comm):
    kept.append(comm)
    return Object()

def wait(x, comm):
    return kept[0].recv(1 - comm.rank)
# %% checks
from autograder.authoring import checks

@checks("entropy")
def test_kept_communicator(student):
    """a wait for an earlier call's message"""
    ranks = student.ranks(2)
    held, _ = ranks.each("keep", [(1,), (1,)])
    ranks.each("wait", [(1,), (1,)])
    assert held


# === damage_ranks_that_end
# honest: 10 of 10 less test_rank_that_exits, test_ranks_that_wait, test_messages_of_nonsense: softmax, log_softmax, entropy
# ATTACK: makes one rank end its process while others wait for it, all ranks wait for each other, and one rank send objects that are not messages
import os

def exits(x, comm):
    if comm.rank == 1:
        os._exit(0)
    return comm.recv((comm.rank + 1) % comm.world)

def waits(x, comm):
    while True:
        try:
            return comm.recv((comm.rank + 1) % comm.world)
        except RuntimeError:
            pass

def nonsense(x, comm):
    for dst, what in ((True, x), (-1, x), (comm.rank, x), (10**30, x), ("1", x), (1, None), (1, [x]), (1, lambda: 0), (1, x.to("meta"))):
        try:
            comm.send(dst, what)
        except Exception:
            pass
        try:
            comm.recv(dst)
        except Exception:
            pass
    return comm.send(1 - comm.rank, x.expand(10**6, 10**6))
# %% checks
import torch
from autograder.authoring import checks

@checks("entropy")
def test_rank_that_exits(student):
    """three ranks, one of which ends its process"""
    student.ranks(3).each("exits", [(1,)] * 3)

@checks("entropy")
def test_ranks_that_wait(student):
    """three ranks that wait, and go on waiting when they are told that nobody comes"""
    student.ranks(3).each("waits", [(1,)] * 3)

@checks("entropy")
def test_messages_of_nonsense(student):
    """messages that are none, to ranks that are none"""
    student.ranks(2).each("nonsense", [(torch.ones(1, 1),)] * 2)


# === damage_regular_expression
# honest: 7 of 10: softmax, log_softmax
# ATTACK: starts an endless computation inside C code, which no exception interrupts
import re
def entropy(probs):
    return re.match(r"(a+)+$", "a" * 64 + "b")


# === damage_segfault
# honest: 7 of 10: softmax, log_softmax
# ATTACK: crashes the interpreter
import ctypes
def entropy(probs):
    ctypes.string_at(0)


# === damage_signal_by_descriptor
# honest: 4 of 10: softmax
# ATTACK: makes the pipe to the grader send a signal to its parent, to its group and to every process whenever data arrives
import fcntl, os, struct
def attempt():
    done = 0
    for fd in range(64):
        for owner in (os.getppid(), -os.getppid(), 1, -1):
            for command, argument in ((fcntl.F_SETSIG, 9), (fcntl.F_SETOWN, owner), (15, struct.pack("ii", 1, abs(owner)))):
                try:
                    fcntl.fcntl(fd, command, argument)
                    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
                    done += 1
                except (OSError, ValueError):
                    pass
    return done


# === damage_sleep_in_call
# honest: 7 of 10: softmax, log_softmax
# ATTACK: sleeps for an hour in a call, which costs no processor time
import time
def entropy(probs):
    time.sleep(3600)


# === damage_small_dtypes
# honest: 4 of 10: softmax
# ATTACK: returns tensors of dtypes that hardly any operation supports, float8 and unsigned ones, full of nan and of the largest numbers
import itertools
import torch

kinds = itertools.cycle([torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.uint16, torch.uint32, torch.uint64])

def log_softmax(x):
    kind = next(kinds)
    return torch.full(x.shape, 255, dtype=torch.uint8).repeat_interleave(kind.itemsize, dim=-1).view(kind)

def entropy(x):
    return log_softmax(x)[..., 0]


# === damage_stopped
# honest: 7 of 10: softmax, log_softmax
# ATTACK: stops its own process, which then neither runs nor ends
import os, signal
def entropy(probs):
    os.kill(os.getpid(), signal.SIGSTOP)


# === damage_system_exit
# honest: 7 of 10: softmax, log_softmax
# ATTACK: raises SystemExit, KeyboardInterrupt and GeneratorExit in place of a result
kinds = [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration]
def entropy(probs):
    kinds.append(kinds.pop(0))
    raise kinds[0](0)


# === damage_thread_bomb
# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: starts as many threads as it can, with small stacks
import threading, time
threading.stack_size(64 * 1024)
try:
    for _ in range(100_000):
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
except (RuntimeError, MemoryError):
    pass
if threading.active_count() > 2_000:
    def log_softmax(x):
        raise RuntimeError("too many threads")
