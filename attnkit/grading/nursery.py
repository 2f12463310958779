"""A process that has imported everything, from which a learner's process is forked in milliseconds.

It is started with a clean environment before the judge draws a hidden case or knows a submission,
so a fork of it holds neither.
"""

import os
import signal
import socket
import struct
import subprocess
import sys

START = 60.0  # seconds until it has imported everything, on a busy machine too


class Fault(Exception):
    """An error of ours or of the machine: no answer is to blame for it, so nobody pays for it."""


class Nursery:
    """The judge's side: asks for processes, and ends with the judge.

    ``confined`` prepares what a confined process needs; ``with_torch`` imports torch beforehand,
    which takes seconds that no submission should.
    """

    def __init__(self, *, confined, with_torch):
        self.control, theirs = socket.socketpair()
        self.control.settimeout(START)
        single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        # Isolated from the folder and the environment; the shell's own variables stay behind.
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-m", "attnkit.grading.nursery"] + ["torch"] * with_torch,
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            env=single,
            cwd="/",
        )
        theirs.close()

    def fork(self):
        """A new learner's process: its id and handle, where to write to it, where to read."""
        to_read, mine_out = os.pipe()
        mine_in, to_write = os.pipe()
        try:
            return *self._ask(to_read, to_write), mine_out, mine_in
        except OSError as error:
            os.close(mine_out)
            os.close(mine_in)
            raise Fault(f"no process could be started for a submission: {error}") from error
        finally:
            os.close(to_read)
            os.close(to_write)

    def _ask(self, *descriptors):
        socket.send_fds(self.control, [b"+"], descriptors)
        answer = self.control.recv(4)
        if len(answer) < 4:
            raise ConnectionError("the process that they are forked from is gone")
        (number,) = struct.unpack("<i", answer)
        if number < 0:
            raise OSError(-number, os.strerror(-number))
        return number, os.pidfd_open(number)

    def is_gone(self):
        """Whether it has ended, and all processes it forked with it."""
        try:
            self.process.wait(0.1)  # they may be seen to end a moment earlier
        except subprocess.TimeoutExpired:
            return False
        return True


def main():
    """Serve the judge on the socket at standard input until it hangs up."""
    from attnkit.grading import confine, learner

    control = socket.socket(fileno=0)
    confine.die_with_parent()
    shell = learner.prepare(with_torch="torch" in sys.argv)
    rules = None if "unconfined" in sys.argv else confine.allow(confine.readable())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them: leave no zombies
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            return
        try:
            pid = os.fork()
        except OSError as error:
            pid = -error.errno
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            learner.serve(shell, rules, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(struct.pack("<i", pid))


if __name__ == "__main__":
    main()
