"""What student code can reach from inside a worker, at each isolation level."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
from pathlib import Path

import pytest

from autograder.base.errors import CourseError, InfrastructureFault, SlowStart
from autograder.sandbox.confine import isolation, limits, syscalls
from autograder.sandbox.process import channel, forkserver_pool
from autograder.sandbox.process.remote_student import Cell, RemoteStudent

ROOT = Path(__file__).parents[2]

# Each probe returns a text if it got through, and raises if it did not.
PROBES = textwrap.dedent('''
    import ctypes, fcntl, glob, os, signal, socket, subprocess, sys, threading

    def read(path):
        with open(path) as file:
            return "read " + file.read(20)

    def write(path):
        with open(path, "a") as file:
            file.write("x")
        return "wrote " + path

    def parent_memory():
        return read(f"/proc/{os.getppid()}/mem")

    def other_process():
        return "listed " + str(len([p for p in os.listdir("/proc") if p.isdigit()]))

    def syscall(number, *arguments):
        libc = ctypes.CDLL(None, use_errno=True)
        result = libc.syscall(number, *arguments)
        if result < 0:
            raise OSError(ctypes.get_errno(), "refused")
        return f"syscall {number} gave {result}"

    PROBES = {
        "solutions": lambda: read(ROOT + "/solutions/softmax.py"),
        "checks": lambda: read(ROOT + "/autograder/checking/checks/test_softmax.py"),
        "hidden checks": lambda: read(ROOT + "/autograder/checking/hidden/test_softmax.py"),
        "import hidden": lambda: __import__("autograder.checking.hidden.test_softmax") and "imported",
        "import solutions": lambda: __import__("solutions.softmax") and "imported",
        "hand computed": lambda: read(ROOT + "/datasets/hand_computed.toml"),
        "gradebook": lambda: read(ROOT + "/gradebook.db"),
        "passwd": lambda: read("/etc/passwd"),
        "list root": lambda: str(os.listdir(ROOT)),
        "parent memory": parent_memory,
        "other processes": other_process,
        "environ of parent": lambda: read(f"/proc/{os.getppid()}/environ"),
        "write kit": lambda: write(ROOT + "/course/kit/evil.py"),
        "write torch": lambda: write(os.path.dirname(sys.modules["torch"].__file__) + "/evil.py"),
        "write tmp": lambda: write("/tmp/evil"),
        "write shm": lambda: write("/dev/shm/evil"),
        "chmod": lambda: os.chmod(".", 0o777) or "chmod",
        "symlink": lambda: os.symlink("/etc", "link") or "symlink",
        "hard link": lambda: os.link("/etc/hostname", "link2") or "link",
        "mknod": lambda: os.mknod("node") or "mknod",
        "tcp": lambda: socket.create_connection(("127.0.0.1", 9), timeout=1) and "connected",
        "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) and "udp",
        "unix socket": lambda: socket.socket(socket.AF_UNIX) and "unix",
        "listen": lambda: socket.create_server(("127.0.0.1", 0)) and "listening",
        "fork": lambda: "forked" if os.fork() else os._exit(0),
        "exec": lambda: subprocess.run(["/bin/true"]) and "ran",
        "kill parent": lambda: os.kill(os.getppid(), signal.SIGKILL) or "killed",
        "kill all": lambda: os.kill(-1, signal.SIGKILL) or "killed",
        "kill group": lambda: os.killpg(0, signal.SIGKILL) or "killed",
        "ptrace": lambda: syscall(101, 16, os.getppid(), 0, 0),
        "process_vm_readv": lambda: syscall(310, os.getppid(), 0, 0, 0, 0, 0),
        "mount": lambda: syscall(165, b"none", b"/tmp", b"tmpfs", 0, 0),
        "unshare": lambda: syscall(272, 0x10000000),
        "keyctl": lambda: syscall(250, 0, -3, 0),
        "bpf": lambda: syscall(321, 0, 0, 0),
        "io_uring": lambda: syscall(425, 8, 0),
        "userfaultfd": lambda: syscall(323, 0),
        "perf": lambda: syscall(298, 0, 0, -1, -1, 0),
        "setuid root": lambda: os.setuid(0) or "root",
        "local share": lambda: str(os.listdir("/usr/local/share")),
        "all of usr/share": lambda: str(os.listdir("/usr/share/doc")),
        "an exchange": lambda: read("/usr/local/share/nbgrader/exchange/x"),
        "pin the parent": lambda: os.sched_setaffinity(os.getppid(), {0}) or "pinned",
        "pin the first process": lambda: os.sched_setaffinity(1, {0}) or "pinned",
        "the parent's processors": lambda: str(os.sched_getaffinity(os.getppid())),
        "the parent's group": lambda: f"group {os.getpgid(os.getppid())}, session {os.getsid(os.getppid())}",
        "the first process's priority": lambda: f"priority {os.getpriority(os.PRIO_PROCESS, 1)}, of all: {os.getpriority(os.PRIO_USER, 0)}",
        "lock a file of all": lambda: fcntl.flock(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_EX) or "locked",
        "lock a part of it": lambda: fcntl.lockf(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_SH, 1, 7) or "locked",
        "lock it the other way": lambda: fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), 37, bytes(32)) or "locked",
        "ask who locks it": lambda: fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), fcntl.F_GETLK, b"\\1" + bytes(31)) or "asked",
        "own a signal": lambda: fcntl.fcntl(os.open(".", os.O_RDONLY), fcntl.F_SETOWN, os.getppid()) or "owns",
        "choose a signal": lambda: fcntl.fcntl(os.open(".", os.O_RDONLY), fcntl.F_SETSIG, 9) or "chosen",
        "own it the other way": lambda: syscall(72, os.open(".", os.O_RDONLY), 15, b"\\1\\0\\0\\0\\1\\0\\0\\0"),
        "be told of a file": lambda: fcntl.fcntl(0, fcntl.F_SETFL, os.O_ASYNC) or "async",
        "take a lease": lambda: fcntl.fcntl(os.open(ROOT + "/course/kit/__init__.py", os.O_RDONLY), fcntl.F_SETLEASE, 0) or "leased",
        "watch a folder": lambda: fcntl.fcntl(os.open(".", os.O_RDONLY), fcntl.F_NOTIFY, 2) or "watched",
        "raise a limit": lambda: __import__("resource").setrlimit(6, (100000, 100000)) or "raised",
    }

    def probe(name):
        try:
            return PROBES[name]()
        except BaseException as error:
            return None

    def names():
        return list(PROBES)

    def thread():
        found = []
        worker = threading.Thread(target=lambda: found.append(1))
        worker.start()
        worker.join()
        return found

    def scratch():
        with open("mine", "w") as file:
            file.write("x" * 1000)
        return os.path.getsize("mine"), os.listdir(".")

    def own_signal():
        os.kill(os.getpid(), 0)
        return True

    def own_descriptors():
        os.sched_setaffinity(0, os.sched_getaffinity(0))
        os.sched_setaffinity(os.getpid(), os.sched_getaffinity(0))
        with open("mine", "a") as file:
            fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_NONBLOCK)
            os.close(fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 0))
            os.set_inheritable(file.fileno(), True)
        return True

    def big_file():
        with open("big", "wb") as file:
            for _ in range(1000):
                file.write(bytes(1 << 20))
        return "wrote a gigabyte"
''')

HARMLESS = {"setuid root"}  # without a change of user (an ordinary user, or root without one) setuid(0) to oneself changes nothing


@pytest.fixture(scope="module", params=["namespaces", "landlock"])
def remote(request):
    forkserver_pool.want(request.param)
    submission = RemoteStudent("softmax", [Cell("probes", f"ROOT = {str(ROOT)!r}\n{PROBES}")], {})
    try:
        submission.start()
    except InfrastructureFault as fault:
        forkserver_pool.want("auto")
        pytest.skip(f"this machine does not reach level {request.param}: {fault}")
    assert submission.cell_outcomes == {}
    yield submission
    submission.close()
    forkserver_pool.want("auto")


def test_no_probe_gets_through(remote):
    got_through = {name: result for name in remote.names() if (result := remote.probe(name)) is not None}
    assert {k: v for k, v in got_through.items() if k not in HARMLESS} == {}
    assert "root" not in got_through or os.getuid() != 0 or not isolation.may_drop_user(forkserver_pool.level())


def test_honest_needs_are_met(remote):
    assert remote.thread() == [1]
    size, _ = remote.scratch()
    assert size == 1000
    assert remote.own_signal() is True
    assert remote.own_descriptors() is True


def test_a_filter_that_compares_nothing_with_a_process_id_is_not_loaded():
    pytest.importorskip("pyseccomp")
    program = syscalls.compiled()
    mine = syscalls.of_process(program, 4711)
    assert [each[3] for each in syscalls.INSTRUCTION.iter_unpack(mine)].count(4711) >= 1
    with pytest.raises(OSError, match="not as it should be"):
        syscalls.of_process(mine, 4712)


def test_a_file_without_end_is_stopped(remote):
    with pytest.raises(OSError, match=r"File too large|No space"):
        remote.big_file()


def test_the_next_submission_finds_nothing_of_the_last(remote):
    remote.scratch()
    following = RemoteStudent("softmax", [Cell("look", "import os\ndef look():\n    return os.listdir('.')")], {})
    following.start()
    try:
        assert list(following.look()) == []
    finally:
        following.close()


@pytest.mark.slow
@pytest.mark.parametrize("level", ["namespaces", "landlock"])
def test_answers_that_are_installed_among_the_packages_are_masked_or_nothing_runs(tmp_path, level):
    """An install without `-e` puts them under a path that every submission may read."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    [packages] = (tmp_path / "env").glob("lib/python*/site-packages")
    (packages / "all.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    shutil.copytree(ROOT / "solutions", packages / "solutions")
    shutil.copytree(ROOT / "autograder" / "checking" / "hidden", packages / "autograder" / "checking" / "hidden")
    places = [str(packages / "solutions" / "softmax.py"), str(packages / "autograder" / "checking" / "hidden" / "test_softmax.py")]
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from autograder.base.errors import InfrastructureFault
from autograder.doctor import exposed
from autograder.sandbox.process import forkserver_pool
from autograder.sandbox.process.remote_student import Cell, RemoteStudent
forkserver_pool.want({level!r})
look = "def look(path):" + chr(10) + "    return open(path).read()[:20]"
remote = RemoteStudent("softmax", [Cell("look", look)], {{}})
print([finding.state for finding in exposed()])
try:
    remote.start()
except InfrastructureFault as fault:
    print("refused:", fault)
else:
    for place in {places!r}:
        try:
            print("read", remote.look(place))
        except OSError as error:
            print(type(error).__mro__[2].__name__)
    remote.close()
"""
    python = tmp_path / "env" / "bin" / "python"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd="/", env={"PATH": os.environ["PATH"]})
    said = done.stdout.splitlines()
    if level == "namespaces" and said[1:] and "bubblewrap" in said[1]:
        pytest.skip(said[1])
    assert said[:1] == ["['missing', 'missing']"], done.stderr
    if level == "namespaces":
        assert said[1:] == ["FileNotFoundError"] * 2, done.stderr
    else:
        assert len(said) == 2
        assert "the course's answers are among Python's packages" in said[1]
        assert "pip uninstall from-prompt-to-token" in said[1]


def test_a_copy_of_the_tree_starts_its_own_workers(tmp_path):
    """The grader that is run, not the one that is installed."""
    copy = tmp_path / "copy"
    left = shutil.ignore_patterns(".venv", ".git", "*.gguf", "build", "__pycache__", "specimens", "docs", "work")
    shutil.copytree(ROOT, copy, ignore=left)
    worker = copy / "autograder" / "sandbox" / "process" / "worker.py"
    worker.write_text(worker.read_text() + "\n\nMARK = 'the copy'\n")
    code = """
from autograder.sandbox.process.remote_student import Cell, RemoteStudent
from autograder.sandbox.process import forkserver_pool
look = "import autograder.sandbox.process.worker as w\\ndef look(): return getattr(w, 'MARK', w.__file__)"
remote = RemoteStudent("softmax", [Cell("look", look)], {})
remote.start()
print(remote.look(), forkserver_pool.refusals)
remote.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=copy, env={"PATH": os.environ["PATH"]})
    assert done.stdout.startswith("the copy"), done.stdout + done.stderr
    assert "other code" not in done.stdout


def test_a_worker_with_other_code_than_the_graders_is_refused(monkeypatch):
    from autograder.sandbox.confine.limits import Limits
    from autograder.sandbox.process.channel import WorkerChannel

    started = forkserver_pool.forkserver()
    monkeypatch.setattr(started, "source", "0" * 64)
    with pytest.raises(InfrastructureFault, match="runs other code than this grader's"):
        WorkerChannel(Limits(), lambda tree: None, started)


@pytest.mark.parametrize("load", [0.0, 99.0])
def test_a_slow_start_lowers_no_isolation(monkeypatch, load):
    asked, (ours, silent) = [], socket.socketpair()
    monkeypatch.setattr(limits.os, "getloadavg", lambda: (load, load, load))

    class Slow(forkserver_pool.ForkServer):
        def __init__(self, limits, level):
            asked.append(level)
            self.control = ours
            self._line(0.01)

        def _log_tail(self):
            return "the last lines of its log"

    monkeypatch.setattr(forkserver_pool, "ForkServer", Slow)
    source = forkserver_pool.Source()
    with silent, ours, pytest.raises(SlowStart) as fault:
        source.forkserver()
    assert (len(asked), source.refusals) == (1, {})
    said, log = str(fault.value).split("\n")
    assert said.startswith("the process that forks workers did not answer in 0 s.")
    assert ("This machine is busy (a load of 99 on" in said) == (load == 99.0)
    assert log == "the last lines of its log"


def test_a_worker_that_sends_half_a_frame_lowers_no_isolation(monkeypatch):
    started = []

    class Forks:
        def fork(self, theirs):
            words = [sys.executable, "-c", f"import os, time; os.write({theirs.fileno()}, b'\\0'); time.sleep(60)"]
            started.append(subprocess.Popen(words, pass_fds=[theirs.fileno()], start_new_session=True))
            return started[0].pid, ""

    def soon(pid, seconds, factor):
        return limits.Deadline(pid, 0.05, factor)

    monkeypatch.setattr(channel, "Deadline", soon)
    with pytest.raises(SlowStart, match="a new worker did not answer in 20 s"):
        channel.WorkerChannel(limits.Limits(), lambda tree: None, Forks())
    assert started[0].wait(10) == -signal.SIGKILL


def test_an_unknown_level_is_one_line():
    with pytest.raises(CourseError, match="there are auto, namespaces"):
        forkserver_pool.want("fortress")


def test_a_class_is_refused_below_landlock_unless_named(monkeypatch):
    monkeypatch.setattr(forkserver_pool.source, "reached", "none")
    monkeypatch.setattr(forkserver_pool.source, "wanted", "auto")
    with pytest.raises(CourseError, match="--isolation none"):
        forkserver_pool.require_safe()
    monkeypatch.setattr(forkserver_pool.source, "wanted", "none")
    assert forkserver_pool.require_safe() == "none"


@pytest.fixture
def public_python(tmp_path):
    """A Python that other users may run too, with this environment's packages."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    system = next((p for p in (f"/usr/bin/python{version}", f"/usr/local/bin/python{version}") if os.path.exists(p)), None)
    site = sysconfig.get_path("purelib")
    if system is None or not isolation._others_may_enter(Path(site)):
        pytest.skip(f"no Python {version} that another user could run with {site}")
    folder = Path(tempfile.mkdtemp(prefix="public-"))
    folder.chmod(0o755)
    subprocess.run([system, "-m", "venv", "--without-pip", folder / "env"], check=True)
    packages = folder / "env" / "lib" / f"python{version}" / "site-packages"
    (packages / "all.pth").write_text(f"import site; site.addsitedir({site!r})\n")
    yield folder / "env" / "bin" / "python"
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")
@pytest.mark.parametrize("level", ["namespaces", "landlock"])
def test_an_ordinary_user_reaches_the_level_too(public_python, tmp_path_factory, level):
    """The same probes as a user without privileges."""
    if level == "namespaces" and not user_namespaces():
        pytest.skip("this machine gives ordinary users no namespaces of their own")
    home = Path(tempfile.mkdtemp(prefix="home-"))
    os.chown(home, 65534, 65534)
    code = f"""
from autograder.sandbox.confine import confine, isolation, syscalls; from autograder.sandbox.process import forkserver_pool
from autograder.sandbox.process.remote_student import Cell, RemoteStudent
forkserver_pool.want({level!r})
remote = RemoteStudent("softmax", [Cell("probes", "ROOT = " + repr({str(ROOT)!r}) + chr(10) + {PROBES!r})], {{}})
remote.start()
assert not remote.cell_outcomes, remote.cell_outcomes
print(forkserver_pool.level(), sorted(name for name in remote.names() if remote.probe(name) is not None))
remote.close()
"""
    result = subprocess.run(
        [public_python, "-c", code], capture_output=True, text=True, user=65534, group=65534, extra_groups=[], cwd="/",
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    shutil.rmtree(home)
    assert result.stdout.strip() == f"{level} []", result.stdout + result.stderr


def user_namespaces() -> bool:
    result = subprocess.run(["unshare", "--user", "true"], user=65534, group=65534, extra_groups=[], capture_output=True)
    return result.returncode == 0
