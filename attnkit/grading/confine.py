"""Takes from the present process everything that a judged answer does not need, for good.

Two layers of the Linux kernel, neither of which needs root: Landlock, an allow-list of the files
that may be read (nothing may be written), and seccomp, an allow-list of system calls (no new
processes, no sockets, no signals to others). Resource limits bound the rest.
"""

import ctypes
import ctypes.util
import os
import resource
import sys
import sysconfig
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
NO_NEW_PRIVS, DEATH_SIGNAL, DUMPABLE = 38, 1, 4
SIGKILL = 9

EXECUTE, READ_FILE, READ_DIR = 1 << 0, 1 << 2, 1 << 3
READ = READ_FILE | READ_DIR
# All rights that Landlock knows of at each version; what is handled and not granted is denied.
HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
ALL_NETWORK, ALL_SCOPES = 0b11, 0b11

# What an interpreter with numpy or torch does while it computes.
CALLS = """
access arch_prctl brk clock_getres clock_gettime clock_nanosleep close dup dup2 dup3 exit
exit_group faccessat faccessat2 fadvise64 fcntl fstat fstatfs futex get_mempolicy
get_robust_list getcwd getdents64 getegid geteuid getgid getgroups getpid getppid getrandom
getresgid getresuid getrlimit getrusage gettid gettimeofday getuid lseek lstat madvise
membarrier mincore mmap mprotect mremap munmap nanosleep newfstatat open openat pause poll ppoll
pread64 preadv pselect6 read readlink readlinkat readv restart_syscall rseq rt_sigaction
rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait sched_getaffinity
sched_getparam sched_getscheduler sched_yield select set_robust_list set_tid_address sigaltstack
stat statfs statx sysinfo time times uname write writev
"""
CLONE_THREAD = 0x00010000


class CannotConfine(OSError):
    """This machine lacks what confinement needs; the message says what."""


def missing():
    """What this machine lacks, in words; an empty list where everything is there."""
    lacks = []
    if sys.platform != "linux":
        return [f"Linux (this is {sys.platform})"]
    if _landlock_version() < 1:
        lacks.append("Landlock (Linux 5.13 or newer, not switched off)")
    if not Path("/proc/sys/kernel/seccomp").exists():
        lacks.append("seccomp in its kernel")
    if not ctypes.util.find_library("seccomp"):
        lacks.append("the library libseccomp (Debian: libseccomp2)")
    return lacks


def require():
    """Raise CannotConfine, with what to do about it, where the machine lacks something."""
    lacks = missing()
    if lacks:
        raise CannotConfine(
            f"submissions cannot be confined: this machine lacks {', '.join(lacks)}. To run them "
            "with all your rights, set c.Judge.unconfined = True, or call `attnkit grade` with "
            "--unconfined"
        )


def readable(hidden=("attnkit",)):
    """The paths an answer may read: Python, its packages but the hidden ones, shared libraries."""
    paths = sysconfig.get_paths()
    base = Path(sys.base_prefix)
    libraries = {Path(paths["stdlib"]), Path(paths["platstdlib"]), base / "lib"}
    libraries |= {Path(name) for name in ("/lib", "/lib64", "/usr/lib", "/usr/lib64")}
    packages = {Path(paths["purelib"]), Path(paths["platlib"])}
    entries = {
        entry
        for folder in packages
        if folder.exists()
        for entry in folder.iterdir()
        if not any(name in entry.name for name in hidden) and entry.suffix != ".pth"
    }
    single = {Path(name) for name in ("/dev/null", "/dev/urandom", "/etc/ld.so.cache")}
    return sorted({path for path in libraries | entries | single if path.exists()} - packages)


def allow(paths):
    """A set of rules for ``confine``: the files below ``paths`` may be read.

    Made once for many processes that are forked from this one, since it takes longer than a fork.

    :raises CannotConfine: where the machine lacks what confinement needs, saying what
    """
    require()
    import pyseccomp  # noqa: F401 (only where there is a seccomp, and before any fork)

    version = _landlock_version()
    ruleset = _Ruleset(HANDLED[min(version, 5)], ALL_NETWORK, ALL_SCOPES)
    # Older kernels know a shorter structure.
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = _checked(LIBC.syscall(CREATE_RULESET, ctypes.byref(ruleset), size, 0))
    for path in paths:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = READ | EXECUTE if path.is_dir() else READ_FILE
        rule = _Beneath(allowed, parent)
        _checked(LIBC.syscall(ADD_RULE, rules, 1, ctypes.byref(rule), 0))
        os.close(parent)
    return rules


def confine(rules, *, memory=4 * 2**30, seconds=120):
    """From here on this process may only compute and read what ``rules``, of ``allow``, say.

    :param memory: bytes of address space
    :param seconds: of processor time, in all
    :raises CannotConfine: where the kernel refuses; nothing is half done quietly
    """
    import pyseccomp

    die_with_parent()
    _prctl(DUMPABLE, 0)
    _prctl(NO_NEW_PRIVS, 1)
    for limit, value in {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 128,
    }.items():
        resource.setrlimit(limit, (value, value))
    _drop_capabilities()
    _checked(LIBC.syscall(RESTRICT_SELF, rules, 0))
    os.close(rules)
    _seccomp(pyseccomp)


def die_with_parent():
    """No answer outlives its judge, however that one ends; only Linux can promise that."""
    if sys.platform == "linux":
        _prctl(DEATH_SIGNAL, SIGKILL)


def _landlock_version():
    return LIBC.syscall(CREATE_RULESET, None, 0, 1)


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("files", "network", "scopes")]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def _drop_capabilities():
    """Root keeps its id and its files; what else it may do is gone."""
    version_3, this_process = 0x20080522, 0
    header = (ctypes.c_uint32 * 2)(version_3, this_process)
    _checked(LIBC.capset(header, (ctypes.c_uint32 * 6)()))


def _seccomp(pyseccomp):
    refuse = pyseccomp.ERRNO(1)
    calls = pyseccomp.SyscallFilter(refuse)
    for name in CALLS.split():
        calls.add_rule(pyseccomp.ALLOW, name)
    threads = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_THREAD, CLONE_THREAD)
    calls.add_rule(pyseccomp.ALLOW, "clone", threads)
    # Its flags lie in memory where a filter cannot look: "no such call" makes libc use clone.
    calls.add_rule(pyseccomp.ERRNO(38), "clone3")
    # A limit may be read, not set; a signal may go to oneself, as abort sends it.
    calls.add_rule(pyseccomp.ALLOW, "prlimit64", pyseccomp.Arg(2, pyseccomp.EQ, 0))
    calls.add_rule(pyseccomp.ALLOW, "tgkill", pyseccomp.Arg(0, pyseccomp.EQ, os.getpid()))
    terminal_size, attributes, readable_bytes = 0x5413, 0x5401, 0x541B
    for request in (terminal_size, attributes, readable_bytes):
        calls.add_rule(pyseccomp.ALLOW, "ioctl", pyseccomp.Arg(1, pyseccomp.EQ, request))
    calls.load()


def _prctl(*arguments):
    _checked(LIBC.prctl(*arguments, *[0] * (5 - len(arguments))))


def _checked(result):
    if result < 0:
        number = ctypes.get_errno()
        raise CannotConfine(number, f"the kernel refused: {os.strerror(number)}")
    return result
