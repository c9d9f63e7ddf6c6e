# honest: 10 of 10 less test_marks_of_threads, test_marks_in_files: softmax, log_softmax, entropy
# ATTACK: one rank tells another a number without a message: by the processors its threads are bound to, and by files, pipes and sockets
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
