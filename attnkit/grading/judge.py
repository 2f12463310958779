"""Judges a notebook: its cells run in the learner's process, what they return is compared here.

Cases, wanted values, laws and mistakes stay in this process; only arguments go over and only data
comes back. The hidden cases decide. An answer that fails them is then tried on the visible ones, in
a new process, so that what is shown of those cannot hold what a hidden case was.
"""

import base64
import contextlib
import functools
import os
import secrets
import signal
import time
from dataclasses import dataclass, field, replace

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from attnkit.checking import CheckFailed, Verdict, shortcuts
from attnkit.checking.judge import Failure, Outcome, Paper, bind, not_allowed
from attnkit.exercises import find
from attnkit.grading import confine, nursery, replies, wire
from attnkit.grading.nursery import START, Fault
from attnkit.notebooks import checked

STEP = 10.0  # seconds of processor time that a cell or a call may take
BUDGET = 120.0  # seconds of processor time that a whole submission may take, if no limit says so
# By the clock on the wall everything may take so many times longer: the machine may be busy.
PATIENCE = 3.0
GRACE = 2.0  # seconds between asking code to stop and ending its process
GLANCE = 0.2  # seconds between two looks at a process's clock


class Lost(Exception):
    """A call that gave no answer; its message tells the learner why."""


class TookTooLong(Lost):
    """A cell or a call did not end in time."""

    def __init__(self, seconds, line=None):
        place = f" (it was in line {line[0]}, `{line[1]}`)" if line else ""
        super().__init__(
            f"your code did not end within {seconds:.0f} seconds{place}; is there an endless loop?"
        )


class Gone(Lost):
    """The learner's process ended before it answered, or answered what is no answer."""

    def __init__(self):
        super().__init__(
            "your code ended the process it ran in, or used more memory or time than it may"
        )


class OutOfBudget(Lost):
    """All that a submission may take has been taken."""

    def __init__(self, seconds):
        super().__init__(f"your notebook used up the {seconds:.0f} seconds that it has in all")


@dataclass(frozen=True)
class Judged:
    """A notebook with its outputs filled in, and a verdict for each exercise that it checks.

    ``lost`` names the cells and functions that were ended or ended their process, and says why. On
    a machine that is busy or short of memory this may be the machine's doing: who gives a mark for
    it runs the submission once more, alone.
    """

    notebook: nbformat.NotebookNode
    verdicts: list[Verdict]
    lost: dict[str, str]


def run(notebook, **options):
    """The notebook that ``judge`` fills in."""
    return judge(notebook, **options).notebook


def judge(notebook, *, seed, limits, library_calls=False):
    """Fill in the outputs of a grafted notebook: those of its cells, and a verdict for each check.

    :param seed: of the hidden cases
    :param limits: of the learner's process, as ``confine`` takes them; None leaves it unconfined
    :param library_calls: give points for a call of the library function that is the exercise
    :raises CannotConfine: where the machine cannot keep the limits
    :raises Fault: for an error of ours or of the machine, never for what a submission does
    """
    try:
        return _judge(notebook, seed, limits, library_calls)
    except Fault:
        nursery.forget()
        raise
    except confine.CannotConfine:
        raise
    except Exception as error:
        raise Fault(f"{type(error).__name__} in the judge: {error}") from error


def _judge(notebook, seed, limits, library_calls):
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    checks = [(cell, find(*checked(cell))) for cell in cells if cell.metadata.nbgrader.grade]
    answers = [cell for cell in cells if not cell.metadata.nbgrader.grade]
    exercises = [exercise for _, exercise in checks]
    used = {} if library_calls else _library_calls(answers, exercises)
    runner = _Runner(answers, limits, any(e.backend == "torch" for e in exercises))
    with contextlib.closing(runner):
        verdicts = {
            exercise: not_allowed(exercise, used[exercise])
            if exercise in used
            else runner.judge(exercise, seed, hidden=True)
            for exercise in exercises
        }
        to_be_shown = []
        for exercise, verdict in verdicts.items():
            if exercise.function in runner.answers_lost:
                # Nothing more is found out about this answer, and these words are ours.
                message = runner.answers_lost[exercise.function]
                verdicts[exercise] = replace(verdict, message=message)
            elif not verdict.passed and exercise not in used:
                to_be_shown.append(exercise)
        if to_be_shown:
            runner.restart()
        for exercise in to_be_shown:
            visible = runner.judge(exercise, seed=0)
            if not visible.passed:
                hidden = verdicts[exercise]
                verdicts[exercise] = replace(visible, earned=hidden.earned, groups=hidden.groups)
    for cell, exercise in checks:
        cell.outputs = _verdict_shown(verdicts[exercise])
    return Judged(notebook, list(verdicts.values()), runner.cells_lost | runner.answers_lost)


def _library_calls(cells, exercises):
    transform = TransformerManager().transform_cell  # magics are no Python
    sources = [transform(cell.source) for cell in cells]
    return shortcuts.in_sources(sources, exercises)


# What is wanted of an exercise's cases is computed once for a seed, not once a submission; and
# the calls that are asked of every answer are written down once.
_paper = functools.lru_cache(maxsize=256)(Paper)


@functools.lru_cache(maxsize=4096)
def _packed(exercise, asked):
    arguments, positional = bind(exercise, asked.arguments)
    return wire.pack([arguments, positional])


@dataclass
class _Budget:
    """The processor time that a submission may still take, in however many processes."""

    seconds: float
    used: float = 0.0
    ends: float = field(init=False)

    def __post_init__(self):
        self.ends = time.monotonic() + PATIENCE * self.seconds

    def is_spent(self, used_now=0.0):
        return self.used + used_now > self.seconds or time.monotonic() > self.ends


class Learner:
    """A process that has run the cells of a notebook and answers calls of their functions."""

    def __init__(self, limits, budget, *, with_torch):
        self.nursery = nursery.mine(confined=limits is not None, with_torch=with_torch)
        self.budget = budget
        self.process, self.target, source = self.nursery.fork()
        self.source = wire.Source(source)
        self.failure = None
        self.used = 0.0
        try:
            wait = wire.by(time.monotonic() + START)
            wire.send(self.target, limits, wait=wait)
            self.source.receive(wait=wait)
        except (wire.Broken, TimeoutError) as error:
            self.close()
            raise Fault("a submission's process ended before it ran anything of it") from error

    def run(self, source):
        """Run a cell."""
        with self._may_be_lost():
            self._send("cell", source)
            return self._reply(replies.of_cell, wire.LARGEST)

    def call(self, function, backend, gradients, calls):
        """The reply to each call: packed, its arguments by name and how many are given by place.

        None is tried after one that took too long.
        """
        with self._may_be_lost():
            self._send("calls", function, backend, list(gradients), calls)
            for _ in calls:
                reply = self._reply(replies.of_call, replies.VALUE)
                yield reply
                if isinstance(reply, replies.Late):
                    return

    def close(self):
        """End the process; nothing of it is left running."""
        if self.process is None:
            return
        self.budget.used += self._used()
        self.process.close()
        for descriptor in (self.target, self.source.descriptor):
            os.close(descriptor)
        self.process = None

    @contextlib.contextmanager
    def _may_be_lost(self):
        """A process that broke the rules once is asked nothing more."""
        if self.failure:
            raise self.failure
        try:
            yield
        except (wire.Broken, Lost) as error:
            self.failure = error if isinstance(error, Lost) else Gone()
            if isinstance(self.failure, Gone) and self.nursery.is_gone():
                raise Fault("the process that submissions are forked from has ended") from error
            raise self.failure from None
        finally:
            if self.failure:
                self.close()

    def _send(self, *request):
        deadline = time.monotonic() + PATIENCE * STEP
        # Replies count on from a number that nobody knows before: none can be there early.
        self.number = secrets.randbits(48)
        try:
            wire.send(self.target, [self.number, *request], wait=wire.by(deadline))
        except TimeoutError:
            raise Gone from None

    def _reply(self, form, largest):
        """The next reply. Code that takes too long is told to stop, and ended if it does not."""
        patience = _Patience(self)
        number, self.number = self.number, self.number + 1
        message = self.source.receive(wait=patience.wait, largest=largest)
        reply = form(message, number)
        is_late = isinstance(reply, replies.Late)
        if is_late and not patience.told_to_stop:
            raise wire.Broken("it was not told to stop")
        if patience.told_to_stop and not is_late:
            # Whether it has seen the signal is unknown, so the next call might.
            raise TookTooLong(STEP)
        return reply

    def _used(self):
        """The processor time of the process so far, in seconds."""
        with contextlib.suppress(OSError):  # it has ended: what was last seen counts
            # How the kernel names the clock of another process, see clock_getcpuclockid(3).
            self.used = time.clock_gettime(~self.process.number << 3 | 2)
        return self.used


class _Patience:
    """Waits for one reply of a learner's process, first patiently and then no longer."""

    def __init__(self, learner):
        self.learner = learner
        self.used, self.begin = learner._used(), time.monotonic()
        self.told_to_stop = None

    def wait(self, descriptor, event):
        """Until there is something to read; raises when there is no hope."""
        while not wire.ready(descriptor, event, GLANCE):
            now, used = time.monotonic(), self.learner._used()
            budget = self.learner.budget
            if budget.is_spent(used):
                raise OutOfBudget(budget.seconds)
            if self.told_to_stop and now - self.told_to_stop > GRACE:
                raise TookTooLong(STEP)
            late = used - self.used > STEP or now - self.begin > PATIENCE * STEP
            if late and not self.told_to_stop:
                self.told_to_stop = now
                self.learner.process.send(signal.SIGALRM)


class _Runner:
    """Keeps a learner's process at hand; one that was lost is replaced for the next exercise."""

    def __init__(self, cells, limits, with_torch):
        self.cells, self.limits, self.with_torch = cells, limits, with_torch
        self.budget = _Budget((limits or {}).get("seconds", BUDGET))
        self.learner = None
        self.cells_lost, self.answers_lost = {}, {}  # by name: why
        self.skipped = set()
        self.written_down = False

    def judge(self, exercise, seed, *, hidden=False):
        """The verdict on the exercise's function in the cells, on the cases of a seed."""
        failure = self.learner and self.learner.failure
        if self.learner is None or (failure and not isinstance(failure, OutOfBudget)):
            self.restart()
        run = functools.partial(self._outcomes, exercise)
        return _paper(exercise, seed).judge(run, hidden=hidden)

    def restart(self):
        """Run every cell in a new process, but for those that ended an earlier one."""
        survived = False
        while not survived:
            self.close()
            self.learner = Learner(self.limits, self.budget, with_torch=self.with_torch)
            survived = all(self._survives(cell) for cell in self.cells)
        self.written_down = True

    def close(self):
        if self.learner:
            self.learner.close()

    def _survives(self, cell):
        """Run a cell; whether the process is still there to run the next."""
        name = cell.metadata.nbgrader.grade_id
        if name in self.skipped:
            return True
        survives = True
        try:
            reply = self.learner.run(cell.source)
            if isinstance(reply, replies.Late):
                raise TookTooLong(STEP, reply.line)
            outputs = _outputs(reply)
        except Lost as failure:
            outputs = [_error(type(failure).__name__, str(failure))]
            self.cells_lost[name] = str(failure)
            if self.learner.failure and not isinstance(failure, OutOfBudget):
                self.skipped.add(name)
                survives = False
        if not self.written_down:
            cell.outputs = outputs
        return survives

    def _outcomes(self, exercise, asked):
        """What a Paper asks an answer by: the outcome of each call."""
        calls = [_packed(exercise, each) for each in asked]
        answers = self.learner.call(exercise.function, exercise.backend, exercise.gradients, calls)
        outcomes = []
        try:
            for reply in answers if calls else ():
                if isinstance(reply, replies.Late):
                    raise TookTooLong(STEP, reply.line)
                outcomes.append(_outcome(exercise, reply))
        except Lost as failure:
            self.answers_lost[exercise.function] = str(failure)
            failed = Outcome(failure=Failure(type(failure).__name__, str(failure)))
            outcomes += [failed] * (len(calls) - len(outcomes))
        return outcomes


def _outcome(exercise, reply):
    match reply:
        case replies.Returned(value, changed):
            return Outcome(value, changed=changed)
        case replies.Missing():
            words = (
                f"there is no function `{exercise.function}`: did the cell that defines it fail?"
            )
            return Outcome(failure=Failure("NameError", words))
        case replies.Raised(name, message, line):
            where = f"line {line[0]} of your code, `{line[1]}`," if line else "calling it"
            return Outcome(failure=Failure(name, f"{where} raised {name}: {message}"))


def _outputs(ran):
    outputs = [_displayed(shown) for shown in ran.shown]
    if ran.printed:
        outputs.insert(0, _output("stream", name="stdout", text=ran.printed))
    if ran.error:
        outputs.append(_error(*ran.error))
    if ran.warned:
        # Shown like the rest: on the error stream nbgrader would take it for a failure.
        outputs.append(_output("stream", name="stdout", text=ran.warned))
    return outputs


def _displayed(shown):
    data = {
        kind: base64.b64encode(data).decode() if kind == "image/png" else data
        for kind, data in shown.items()
    }
    return _output("display_data", data=data, metadata={})


def _error(name, message):
    line = f"{name}: {message}"
    return _output("error", ename=name, evalue=message, traceback=[line])


def _verdict_shown(verdict):
    """The outputs of a check: the verdict, and what nbgrader reads the points from.

    It gives none for an error, the number that is the cell's result, and all for neither.
    """
    outputs = [_output("display_data", data=verdict._repr_mimebundle_(), metadata={})]
    if not verdict.earned:
        outputs.append(_error(CheckFailed.__name__, str(CheckFailed(verdict))))
    elif not verdict.passed:
        data = {"text/plain": f"{verdict.earned:g}"}
        outputs.append(_output("execute_result", data=data, metadata={}, execution_count=None))
    return outputs


def _output(kind, **fields):
    """An output as the format has it; nbformat's own functions validate each, which is slow."""
    return nbformat.from_dict({"output_type": kind, **fields})
