"""A process that has imported everything, from which a learner's process is forked in milliseconds.

It is started with a clean environment before the judge draws a hidden case or knows a submission,
so a fork of it holds neither. Where several processes judge, each takes a twin of the nursery of
the process they were forked from: it is there at once, and ends with the one that took it.
"""

import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys

from attnkit.grading import confine

START = 60.0  # seconds until it has imported everything, on a busy machine too
FORK, TWIN = b"f", b"t"  # what it can be asked for
_known = {}  # of this process and of those it was forked from, by process and what they are for


class Fault(Exception):
    """An error of ours or of the machine: no answer is to blame for it, so nobody pays for it."""


def mine(*, confined, with_torch):
    """The nursery of this process: started, or the twin of one of the process it was forked from.

    :param confined: prepare what a confined process needs
    :param with_torch: import torch beforehand, which takes seconds that no submission should
    """
    process, parent = ((of, confined, with_torch) for of in (os.getpid(), os.getppid()))
    if process not in _known:
        _known[process] = _known[parent].twin() if parent in _known else start(confined, with_torch)
    return _known[process]


def forget():
    """Let all of them end; the next submission gets a new one."""
    _known.clear()


def start(confined, with_torch):
    """A new nursery, which ends with this process."""
    if confined:
        confine.require()
    control, theirs = socket.socketpair()
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    wishes = {"confined": confined, "torch": with_torch}
    # Isolated from the folder and the environment; the shell's own variables stay behind.
    process = subprocess.Popen(
        [sys.executable, "-I", "-B", "-m", __name__, *(wish for wish, of in wishes.items() if of)],
        stdin=theirs.fileno(),
        stdout=subprocess.DEVNULL,
        env=single,
        cwd="/",
        start_new_session=True,  # Ctrl-C is for us
    )
    theirs.close()
    return Nursery(control, process)


class Child:
    """A learner's process, as long as it is somebody's."""

    def __init__(self, number):
        self.number = number
        try:
            # Names this process for good; its number may one day be another's.
            self.handle = os.pidfd_open(number)
        except (AttributeError, OSError):  # a Linux before 5.3, or none
            self.handle = None

    def send(self, number):
        """Send it a signal, if it is still there."""
        with contextlib.suppress(ProcessLookupError):
            if self.handle is None:
                os.kill(self.number, number)
            else:
                signal.pidfd_send_signal(self.handle, number)

    def close(self):
        """End it."""
        self.send(signal.SIGKILL)
        if self.handle is not None:
            os.close(self.handle)


class Nursery:
    """The judge's side: asks for processes at a socket, and hangs up when it ends.

    ``process`` is the one that it started; a twin is the child of another.
    """

    def __init__(self, control, process=None):
        self.control, self.process = control, process
        self.control.settimeout(START)

    def twin(self):
        """Another one, for the process that calls this: it ends when that process does."""
        control, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.control, [TWIN], [theirs.fileno()])
        return Nursery(control)

    def fork(self):
        """A new learner's process: a Child, where to write to it, where to read."""
        to_read, mine_out = os.pipe()
        mine_in, to_write = os.pipe()
        try:
            return self._ask(to_read, to_write), mine_out, mine_in
        except OSError as error:
            os.close(mine_out)
            os.close(mine_in)
            raise Fault(f"no process could be started for a submission: {error}") from error
        finally:
            os.close(to_read)
            os.close(to_write)

    def _ask(self, *descriptors):
        socket.send_fds(self.control, [FORK], descriptors)
        answer = self.control.recv(4)
        if len(answer) < 4:
            raise ConnectionError("the process that they are forked from is gone")
        (number,) = struct.unpack("<i", answer)
        if number < 0:
            raise OSError(-number, os.strerror(-number))
        return Child(number)

    def is_gone(self):
        """Whether it has ended, and all processes it forked with it."""
        hung_up = select.poll()
        hung_up.register(self.control, 0)
        return bool(hung_up.poll(100))  # they may be seen to end a moment earlier


def main():
    """Serve the judge on the socket at standard input until it hangs up."""
    from attnkit.grading import learner

    control = socket.socket(fileno=0)
    confine.die_with_parent()
    shell = learner.prepare(with_torch="torch" in sys.argv)
    rules = confine.allow(confine.readable()) if "confined" in sys.argv else None
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them: leave no zombies
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            os._exit(0)  # there is nothing to tidy up
        try:
            pid = os.fork()
        except OSError as error:
            pid = -error.errno
        if pid == 0 and message == FORK:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            learner.serve(shell, rules, *descriptors)
        if pid == 0:
            confine.die_with_parent()
            os.dup2(*descriptors, control.fileno())
        for descriptor in descriptors:
            os.close(descriptor)
        if pid and message == FORK:
            control.send(struct.pack("<i", pid))


if __name__ == "__main__":
    main()
