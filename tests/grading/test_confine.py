"""A battery of attacks, each tried in a confined process; a few also outside, to see them work."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from attnkit import notebooks, soft_attention
from attnkit.grading import confine, nursery
from tests.course import Course

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

# Each is through if it raises nothing; SECRET, SCRATCH, PORT and the like are filled in. The parent
# has the same user, so the rights of the user alone would let each attack on it through.
ATTACKS = {
    "read a file": "open(SECRET).read()",
    "read by os.open": "os.read(os.open(SECRET, os.O_RDONLY), 1)",
    "read through a mapping": "import mmap; mmap.mmap(os.open(SECRET, os.O_RDONLY), 0, prot=1)",
    "read through /proc/self/root": "open('/proc/self/root' + SECRET).read()",
    "read through a path handle": "os.open(SECRET, os.O_RDONLY, dir_fd=os.open('/', os.O_PATH))",
    "read the password file": "open('/etc/passwd').read()",
    "list the folder": "os.listdir(os.path.dirname(SECRET))",
    "list the root": "os.listdir('/')",
    "read the environment": "open('/proc/self/environ').read()",
    "read the parent's memory": "open(f'/proc/{PARENT}/mem', 'rb')",
    "read the parent's command": "open(f'/proc/{PARENT}/cmdline').read()",
    "read a reference": "open(REFERENCE).read()",
    "read the solutions": "open(SOLUTIONS).read()",
    "read the gradebook": "open(os.path.join(os.path.dirname(SECRET), 'gradebook.db')).read()",
    "list the submissions": "os.listdir(os.path.join(os.path.dirname(SECRET), 'submitted'))",
    "list the home": "os.listdir(HOME)",
    "import a reference": "import attnkit.soft_attention",
    "write a file": "open(SCRATCH, 'w')",
    "append to a file": "open(SECRET, 'a')",
    "remove a file": "os.remove(SECRET)",
    "rename a file": "os.rename(SECRET, SCRATCH)",
    "truncate a file": "os.truncate(SECRET, 0)",
    "change a mode": "os.chmod(SECRET, 0o777)",
    "change an owner": "os.chown(SECRET, 0, 0)",
    "change times": "os.utime(SECRET)",
    "make a folder": "os.mkdir(SCRATCH)",
    "make a link": "os.symlink(SECRET, SCRATCH)",
    "make a hard link": "os.link(SECRET, SCRATCH)",
    "make a pipe": "os.mkfifo(SCRATCH)",
    "make a file in memory": "os.memfd_create('x')",
    "shared memory": "open('/dev/shm/x', 'w')",
    "shared memory by name": "from multiprocessing import shared_memory as s; "
    "s.SharedMemory(create=True, size=8)",
    "share a mapping with the parent": "libc.syscall(434, PARENT, 0) < 0 and 1 / 0",
    "fork": "os.fork()",
    "fork and wait": "import multiprocessing as m; p = m.Process(target=id); p.start(); p.join()",
    "run a program": "os.execv('/bin/true', ['true'])",
    "run a shell": "assert os.system('true') == 0",
    "run by subprocess": "import subprocess; subprocess.run(['true'], check=True)",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "open a socket": "import socket; socket.socket()",
    "open a unix socket": "import socket; socket.socket(socket.AF_UNIX)",
    "connect": "import socket; socket.create_connection(('127.0.0.1', PORT), 2)",
    "a pair of sockets": "import socket; socket.socketpair()",
    "signal the parent": "os.kill(PARENT, 0)",
    "signal the group": "os.killpg(0, 0)",
    "signal everyone": "os.kill(-1, 0)",
    "trace the parent": "assert libc.ptrace(16, PARENT, 0, 0) == 0",
    "read the parent by a call": "assert libc.syscall(310, PARENT, 0, 0, 0, 0, 0) >= 0",
    "raise a limit": "import resource as r; r.setrlimit(r.RLIMIT_CPU, (999, 999))",
    "a limit of the parent": "import resource as r; r.prlimit(PARENT, r.RLIMIT_CPU, (1, 1))",
    "lower the priority of others": "os.setpriority(os.PRIO_PROCESS, PARENT, 19)",
    "change the user": "os.setuid(65534)",
    "a new namespace": "assert libc.unshare(0x10000000) == 0",
    "mount": "assert libc.mount(b'x', b'/tmp', b'tmpfs', 0, 0) == 0",
    "change the root": "os.chroot('/tmp')",
    "a timer that outlives": "import signal; signal.setitimer(signal.ITIMER_REAL, 1)",
    "the kernel's log": "assert libc.klogctl(10, 0, 0) >= 0",
    "io_uring": "assert libc.syscall(425, 1, 0) >= 0",
    "userfaultfd": "assert libc.syscall(323, 0) >= 0",
    "bpf": "assert libc.syscall(321, 0, 0, 0) >= 0",
    "keys": "assert libc.syscall(250, 0, -3, 1) >= 0",
    "a message queue": "assert libc.syscall(68, 0, 0o1600) >= 0",
    "a semaphore": "assert libc.syscall(64, 0, 1, 0o1600) >= 0",
    "a shared segment": "assert libc.syscall(29, 0, 4096, 0o1600) >= 0",
    "type into the terminal": "import fcntl; fcntl.ioctl(0, 0x5412, b'x')",
    "undo the filter": "assert libc.prctl(22, 0, 0, 0, 0) == 0",
    "a timer of the kernel's": "timer = ctypes.c_long(); "
    "assert libc.timer_create(1, None, ctypes.byref(timer)) == 0",
    "an alarm": "import signal; assert signal.alarm(1) == 0",
    "kill the parent by its handle": "import signal; "
    "signal.pidfd_send_signal(os.pidfd_open(PARENT), 0)",
    "join another group": "os.setgroups([])",
    "allocate without bound": "bytearray(8 * 2**30)",
    "compute without end": "import signal, time; "
    "signal.signal(signal.SIGXCPU, signal.SIG_IGN); exec('while time.process_time() < 9: pass')",
}


# Forks a process for each of the attacks, as the nursery does, and prints what came of each.
RUNNER = """
import ctypes, json, os, select, signal, sys
from attnkit.grading import confine

attacks, confined = json.load(sys.stdin)
libc = ctypes.CDLL(None)
libc.syscall.restype = ctypes.c_long
rules = confine.allow(confine.readable()) if confined else None
came = {}
for name, code in attacks.items():
    source, target = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            if confined:
                confine.confine(rules, seconds=2)
            code = code.replace("PARENT", str(os.getppid()))
            exec(code, {"ctypes": ctypes, "libc": libc, "os": os})
            os.write(target, b"THROUGH")
        except BaseException as error:
            os.write(target, repr(error).encode()[:500])
        finally:
            os._exit(0)
    os.close(target)
    came[name] = os.read(source, 500).decode() if select.select([source], [], [], 20)[0] else ""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(source)
json.dump(came, sys.stdout)
"""
# Nobody has this number; a process may take it on if it is root's.
NOBODY = 54321
ROOT = Path(__file__).parents[2]


def as_nobody(command):
    """The command as run by a user without any rights, who can reach Python nevertheless.

    Python may lie in a home that others must not enter, so in a mount namespace of its own the
    command finds a home in which there is nothing else.
    """
    steps = []
    for needed in {Path(sys.base_prefix), Path(sys.prefix), ROOT}:
        closed = [p for p in reversed(needed.parents) if not p.stat().st_mode & 0o001]
        if closed:
            aside = tempfile.mkdtemp()
            steps += [
                f"mount --bind {needed} {aside}",
                f"mount -t tmpfs -o mode=755 tmpfs {closed[0]}",
                f"mkdir -p {needed}",
                f"mount --bind {aside} {needed}",
            ]
    drop = f"exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups"
    steps.append(f'{drop} "$0" "$@"')
    return ["unshare", "--mount", "sh", "-ec", "\n".join(steps), *command]


def run(command, user, **options):
    if user == "nobody":
        command = as_nobody(command)
    return subprocess.run(
        command, capture_output=True, text=True, timeout=250, check=False, **options
    )


@pytest.fixture(scope="module", params=["this user", "nobody"])
def user(request):
    """Who runs the tests, which may be root; and, where root does, a user without any rights."""
    if request.param == "nobody":
        if os.getuid() != 0:
            pytest.skip("this user already has no special rights")
        tried = run([sys.executable, "-c", "import os; print(os.getuid())"], "nobody")
        if tried.stdout.split() != [str(NOBODY)]:
            pytest.skip(f"no process of another user can be started here: {tried.stderr}")
    return request.param


@pytest.fixture(scope="module")
def attempt(user):
    """Runs attacks, each in a process of its own, in a folder that everyone may write to."""

    def attempt(attacks, *, confined):
        folder = Path(tempfile.mkdtemp())
        folder.chmod(0o777)
        secret = folder / "secret"
        (folder / "submitted").mkdir()
        for file in (secret, folder / "gradebook.db", folder / "submitted" / "other"):
            file.write_text("the answer")
            file.chmod(0o666)
        with socket.create_server(("127.0.0.1", 0)) as server:
            filled = {
                "SECRET": repr(str(secret)),
                "SCRATCH": repr(str(folder / "scratch")),
                "REFERENCE": repr(soft_attention.__file__),
                "SOLUTIONS": repr(str(ROOT / "solutions/soft_attention/soft_attention.ipynb")),
                "HOME": repr(str(Path.home())),
                "PORT": str(server.getsockname()[1]),
            }
            for word, value in filled.items():
                attacks = {name: code.replace(word, value) for name, code in attacks.items()}
            done = run(
                [sys.executable, "-I", "-B", "-c", RUNNER],
                user,
                input=json.dumps([attacks, confined]),
            )
        assert done.returncode == 0, done.stderr
        assert secret.read_text() == "the answer"
        assert not confined or not (folder / "scratch").exists()
        shutil.rmtree(folder)
        return json.loads(done.stdout)

    return attempt


@pytest.fixture(scope="module")
def came(attempt):
    """What came of each attack in a confined process."""
    return attempt(ATTACKS, confined=True)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_confined_process_cannot(name, came):
    assert "THROUGH" not in came[name]
    # It failed at what it tried, not at how it is written.
    assert not came[name].startswith(("NameError", "SyntaxError", "AttributeError"))


def test_an_unconfined_process_can(attempt):
    """So it is the confinement that stops them, for a user without rights too."""
    names = [
        "read a file",
        "read a reference",
        "read the solutions",
        "read the gradebook",
        "list the submissions",
        "list the root",
        "read the parent's command",
        "import a reference",
        "write a file",
        "shared memory by name",
        "fork",
        "run a program",
        "connect",
        "signal the parent",
        "an alarm",
    ]
    came = attempt({name: ATTACKS[name] for name in names}, confined=False)
    # A program that was run takes the place of the process that would say so.
    assert [name for name in names if "THROUGH" not in came[name]] == ["run a program"]


COMPUTES = {
    "linear algebra": "import numpy as np; np.linalg.svd(np.ones((50, 50))); "
    "np.ones(10**6) @ np.ones(10**6)",
    "the standard library": "import json, decimal, collections, dataclasses; json.dumps([1])",
    "a thread": "import threading; t = threading.Thread(target=id, args=(1,)); t.start(); t.join()",
    "time and chance": "import time, random; time.sleep(0.01); random.random(); os.urandom(8)",
    "a signal to itself": "import signal; signal.raise_signal(signal.SIGCHLD)",
}


def test_a_confined_process_can_still_compute(attempt):
    assert attempt(COMPUTES, confined=True) == dict.fromkeys(COMPUTES, "THROUGH")


def test_a_confined_process_can_use_torch():
    script = """
        from attnkit.grading import confine
        confine.confine(confine.allow(confine.readable()))
        import torch
        torch.ones(50, 50) @ torch.ones(50, 50)
        print("THROUGH")
    """
    done = run([sys.executable, "-I", "-c", textwrap.dedent(script)], "this user")
    assert done.stdout == "THROUGH\n", done.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="only root has capabilities to lose")
def test_root_loses_its_capabilities():
    script = """
        import os, re
        from attnkit.grading import confine
        rules, (source, target) = confine.allow(confine.readable()), os.pipe()
        child = os.fork()
        if child == 0:
            confine.confine(rules)
            os.write(target, b"confined")
            os.read(source, 0) or __import__("time").sleep(60)
        os.read(source, 8)
        print(re.search("CapEff:\\t(.*)", open(f"/proc/{child}/status").read())[1])
        os.kill(child, 9)
    """
    done = run([sys.executable, "-I", "-c", textwrap.dedent(script)], "this user")
    assert int(done.stdout, 16) == 0, done.stderr


def test_a_confined_process_dies_with_its_parent():
    child = """
        from attnkit.grading import confine
        confine.confine(confine.allow(confine.readable()))
        import time
        time.sleep(60)
    """
    parent = f"""
        import os, subprocess, sys
        child = subprocess.Popen([sys.executable, "-I", "-c", {textwrap.dedent(child)!r}])
        import time
        time.sleep(2)
        os.write(1, str(child.pid).encode())
        os._exit(0)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(parent)], capture_output=True, timeout=60, check=True
    )
    pid = int(done.stdout)
    for _ in range(50):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] == "Z":
            return  # dead, and only waits for a parent that collects it
        signal.sigtimedwait([], 0.1)
    pytest.fail("it is still running")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("sys.platform", "darwin", "Linux (this is darwin)"),
        ("_landlock_version", lambda: -1, "Landlock (Linux 5.13 or newer, not switched off)"),
        ("ctypes.util.find_library", lambda name: None, "libseccomp (Debian: libseccomp2)"),
        ("Path.exists", lambda path: False, "seccomp in its kernel"),
    ],
)
def test_a_machine_that_cannot_confine_says_what_it_lacks(monkeypatch, name, value, words):
    monkeypatch.setattr(f"attnkit.grading.confine.{name}", value)
    with pytest.raises(confine.CannotConfine, match=re.escape(words)):
        confine.allow([])
    with pytest.raises(confine.CannotConfine, match=f"{re.escape(words)}.*unconfined"):
        nursery.start(confined=True, with_torch=False)


def _old_kernel():
    """From here on this process and its children see a Linux without Landlock and pidfds."""
    import pyseccomp

    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    landlock, pidfd, no_such_call = confine.CREATE_RULESET, 434, pyseccomp.ERRNO(38)
    for number in (landlock, pidfd):
        rules.add_rule(no_such_call, number)
    rules.load()


def test_on_an_old_kernel_the_way_out_is_told_and_works(tmp_path):
    course = Course(tmp_path / "course", "notation")
    answer = notebooks.teacher("notation")
    for cell in answer.cells:
        if cell.metadata.nbgrader.solution and cell.cell_type == "code":
            cell.source = cell.source.replace("    return", "    while True: pass\n    return")
    course.hand_in("right", notebooks.teacher("notation"))
    course.hand_in("endless", answer)

    def grade(*options):
        return subprocess.run(
            [Path(sys.executable).parent / "attnkit", "grade", "notation", *options],
            cwd=course.folder,
            preexec_fn=_old_kernel,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    refused = grade()
    assert refused.returncode == 1
    assert "lacks Landlock (Linux 5.13 or newer" in refused.stderr
    assert "call `attnkit grade` with --unconfined" in refused.stderr
    went_on = grade("--unconfined")
    assert went_on.returncode == 0, went_on.stderr + went_on.stdout
    assert course.marks("right")["attention_cols_check"] == (4, 4)
    assert course.marks("endless")["attention_cols_check"] == (0, 4)
    assert "did not end within 10 seconds" in went_on.stdout
