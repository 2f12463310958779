"""A battery of attacks, each tried in a confined process; a few also outside, to see them work."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from attnkit.grading import confine

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

# Each prints THROUGH if it reaches its aim; SECRET, SCRATCH, PORT and PARENT are filled in.
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
    "allocate without bound": "bytearray(8 * 2**30)",
}


def attempt(code, tmp_path, *, confined):
    secret, scratch = tmp_path / "secret", tmp_path / "scratch"
    secret.write_text("the answer")
    with socket.create_server(("127.0.0.1", 0)) as server:
        filled = {
            "SECRET": repr(str(secret)),
            "SCRATCH": repr(str(scratch)),
            "PORT": str(server.getsockname()[1]),
            "PARENT": str(os.getpid()),
        }
        for name, value in filled.items():
            code = code.replace(name, value)
        script = f"""
            import ctypes, os
            libc = ctypes.CDLL(None)
            libc.syscall.restype = ctypes.c_long
            from attnkit.grading import confine
            if {confined}:
                confine.confine(confine.allow(confine.readable()), seconds=5)
            {code}
            os.write(1, b"THROUGH")
        """
        done = subprocess.run(
            [sys.executable, "-I", "-B", "-c", textwrap.dedent(script)],
            capture_output=True,
            timeout=60,
            check=False,
        )
    return b"THROUGH" in done.stdout, secret.exists() and secret.read_text() == "the answer"


@pytest.mark.parametrize("name", ATTACKS)
def test_a_confined_process_cannot(name, tmp_path):
    through, untouched = attempt(ATTACKS[name], tmp_path, confined=True)
    assert not through
    assert untouched
    assert not (tmp_path / "scratch").exists()


@pytest.mark.parametrize(
    "name", ["read a file", "write a file", "fork", "connect", "list the root"]
)
def test_an_unconfined_process_can(name, tmp_path):
    assert attempt(ATTACKS[name], tmp_path, confined=False)[0]


@pytest.mark.parametrize(
    "code",
    [
        "import numpy as np; np.linalg.svd(np.ones((50, 50))); np.ones(10**6) @ np.ones(10**6)",
        "import json, decimal, collections, dataclasses, typing, functools; json.dumps([1])",
        "import threading; t = threading.Thread(target=id, args=(1,)); t.start(); t.join()",
        "import time, random; time.sleep(0.01); random.random(); os.urandom(8)",
        "import torch; torch.ones(50, 50) @ torch.ones(50, 50)",
    ],
)
def test_a_confined_process_can_still_compute(code, tmp_path):
    code = code.replace("; ", "\n            ")
    assert attempt(code, tmp_path, confined=True)[0]


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
