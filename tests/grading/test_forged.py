"""Replies that a cell writes itself into the judge's pipe: none becomes an error of ours."""

import pytest

from attnkit.grading import confine

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

# A hostile cell walks to the frame that serves the judge and takes its pipe and its counter.
FORGER = """
import copy, os, struct, sys
from attnkit.grading import wire

def serving():
    frame = sys._getframe()
    while frame.f_code.co_name != "serve":
        frame = frame.f_back
    return frame.f_locals

def forge(*reply, ahead=0, raw=None):
    seen = serving()
    number = next(copy.copy(seen["number"])) + ahead
    if raw is None:
        wire.send(seen["target"], [number, *reply])
    else:
        os.write(seen["target"], raw)
"""
ANSWER = """
def softmax(scores, axis=-1):
    FORGED
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)
"""

# No replies to a call, or not now; and replies that only are no right answer.
MALFORMED = {
    "nothing": "forge()",
    "no such kind": "forge('passed')",
    "a kind that is no text": "forge(7)",
    "too short": "forge('value')",
    "too long": "forge('value', scores, [], 1)",
    "names that are none": "forge('value', scores, [1])",
    "too many names": "forge('value', scores, ['scores'] * 1000)",
    "no list of names": "forge('value', scores, 'scores')",
    "a number": "forge('value', 7, [])",
    "text": "forge('value', 'right', [])",
    "a list": "forge('value', [1.0, 2.0], [])",
    "a tuple that is none": "forge('value', {'tuple': 3}, [])",
    "a tuple of tuples": "forge('value', {'tuple': [{'tuple': []}]}, [])",
    "a deep tuple": "forge('value', eval('{\"tuple\": [' * 60 + ']}' * 60), [])",
    "a long tuple": "forge('value', {'tuple': [None] * 1000}, [])",
    "words that are none": "forge('value', {'other': 7}, [])",
    "more than words": "forge('value', {'other': 'a', 'b': 1}, [])",
    "long words": "forge('value', {'other': 'a' * 100_000}, [])",
    "an exception with a strange name": "forge('raised', 'a b', 'message', None)",
    "an exception with a long message": "forge('raised', 'E', 'a' * 10**7, None)",
    "an exception without a message": "forge('raised', 'E', None, None)",
    "a line that is none": "forge('raised', 'E', 'message', ['one', 1])",
    "late at no line": "forge('late', 5)",
    "late without a line": "forge('late')",
    "missing something": "forge('missing', 1)",
    "no list": "forge(raw=wire.pack('text'))",
    "a frame of text": "forge(raw=struct.pack('<I', 5) + b'\\xa4text')",
    "a frame of dots": "forge(raw=struct.pack('<I', 5) + b'.....')",
    "half a frame": "forge(raw=struct.pack('<I', 100) + b'half')",
    "a frame too large": "forge(raw=struct.pack('<I', 2**31) + b'much')",
    "a value too large": "forge('value', np.ones(2**21), [])",
    "an extension": "forge(raw=struct.pack('<I', 4) + b'\\xc7\\x01\\x05x')",
    "twice": "forge('value', scores, []); forge('value', scores, [])",
    "early": "forge('value', scores, [], ahead=5)",
    "many early": "[forge('value', scores, [], ahead=i) for i in range(200)]",
    "late without being told to stop": "forge('late', None)",
}
WELL_FORMED = {
    "missing": "forge('missing')",
    "a function that is gone": "forge('raised', 'NotImplementedError', '', None)",
    "an array of another shape": "forge('value', np.ones((2, 2, 2)), [])",
    "an array without elements": "forge('value', np.ones((0, 3)), [])",
    "complex numbers": "forge('value', scores + 1j, [])",
    "whole numbers": "forge('value', np.ones(scores.shape, 'u1'), [])",
    "long doubles": "forge('value', np.ones(scores.shape, np.longdouble), [])",
    "halves": "forge('value', np.full(scores.shape, np.inf, 'f2'), [])",
    "bytes that are swapped": "forge('value', np.ones(scores.shape, '>f8'), [])",
    "an argument that is none": "forge('value', scores, ['nothing'])",
}
OF_CELLS = {
    "nothing": "forge()",
    "too short": "forge('ran')",
    "no text": "forge('ran', 1, 2, 3, 4)",
    "much text": "forge('ran', 'a' * 10**7, '', [], None)",
    "an output that is none": "forge('ran', '', '', ['x'], None)",
    "HTML": "forge('ran', '', '', [{'text/html': '<b>'}], None)",
    "a picture that is none": "forge('ran', '', '', [{'text/plain': '', 'image/png': 'x'}], None)",
    "many outputs": "forge('ran', '', '', [{'text/plain': ''}] * 100, None)",
    "an error that is none": "forge('ran', '', '', [], ['a b', 'c'])",
    "an error without a message": "forge('ran', '', '', [], ['E'])",
    "a reply to a call": "forge('value', np.ones(3), [])",
}


GONE = "your code ended the process it ran in"


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_reply_to_a_call_ends_the_process(judged, name):
    first, second = judged(FORGER + ANSWER.replace("FORGED", MALFORMED[name])).verdicts
    assert first.earned == 0
    assert first.message.startswith(GONE)
    assert second.passed


@pytest.mark.parametrize("name", WELL_FORMED)
def test_a_forged_reply_to_a_call_is_a_wrong_answer(judged, name):
    first, second = judged(FORGER + ANSWER.replace("FORGED", WELL_FORMED[name])).verdicts
    assert first.earned == 0
    assert second.passed


@pytest.mark.parametrize("name", OF_CELLS)
def test_a_malformed_reply_to_a_cell_costs_what_the_cell_defines(judged, name):
    result = judged(FORGER + ANSWER.replace("FORGED", "") + OF_CELLS[name])
    (error,) = result.notebook.cells[1].outputs
    assert error.evalue.startswith(GONE)
    assert [verdict.passed for verdict in result.verdicts] == [False, True]


def test_a_second_reply_to_a_cell_is_not_taken_for_the_reply_to_the_next(judged):
    twice = "[forge('ran', 'forged text', '', [], None) for _ in range(2)]"
    result = judged(FORGER + ANSWER.replace("FORGED", "") + twice)
    jacobian = result.notebook.cells[3]
    assert "forged text" not in str(jacobian.outputs)


def test_the_forger_can_forge(judged):
    """What has the right form at the right time is read: the attacks above do reach the pipe."""
    first, _ = judged(
        FORGER + ANSWER.replace("FORGED", "forge('raised', 'Forged', 'x', None); os._exit(0)")
    ).verdicts
    assert first.case == "a vector"
    shown = "forge('ran', 'forged text', '', [], None)\nimport time; time.sleep(0.5)"
    notebook = judged(FORGER + ANSWER.replace("FORGED", "") + shown).notebook
    assert "forged text" in str(notebook.cells[1].outputs)
