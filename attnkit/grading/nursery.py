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

from attnkit.grading import wire

START = 60.0  # seconds until it has imported everything, on a busy machine too


class Nursery:
    """The judge's side: asks for processes, and ends with the judge."""

    def __init__(self):
        self.control, theirs = socket.socketpair()
        self.control.settimeout(START)
        single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        # Isolated from the folder and the environment; the shell's own variables stay behind.
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-m", "attnkit.grading.nursery"],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            env=single,
            cwd="/",
        )
        theirs.close()

    def fork(self):
        """A new learner's process: a handle to end it, where to write to it, where to read."""
        to_read, mine_out = os.pipe()
        mine_in, to_write = os.pipe()
        try:
            socket.send_fds(self.control, [b"+"], [to_read, to_write])
            answer = self.control.recv(4)
            if len(answer) < 4:
                raise wire.Broken("the process that learners' processes come from is gone")
            return os.pidfd_open(struct.unpack("<I", answer)[0]), mine_out, mine_in
        except BaseException:
            os.close(mine_out)
            os.close(mine_in)
            raise
        finally:
            os.close(to_read)
            os.close(to_write)


def main():
    """Serve the judge on the socket at standard input until it hangs up."""
    from attnkit.grading import confine, learner

    control = socket.socket(fileno=0)
    confine.die_with_parent()
    shell, paths = learner.prepare(), confine.readable()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them: leave no zombies
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            learner.serve(shell, paths, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(struct.pack("<I", pid))


if __name__ == "__main__":
    main()
