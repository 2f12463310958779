"""Data crosses unchanged; what is no data, or lies about its size, is refused."""

import os
import struct
import time

import msgpack
import numpy as np
import pytest

from attnkit.grading import wire


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.arange(6.0).reshape(2, 3).T,
        np.zeros((0, 3)),
        np.array(1.5, np.float32),
        np.array([True, False]),
        np.array([1 + 2j]),
        np.array([np.nan, np.inf]),
    ],
)
def test_arrays_cross(array):
    back = wire.unpack(wire.pack(array))
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)
    assert back.flags.f_contiguous == array.flags.f_contiguous
    back[...] = 0  # it can be written to


@pytest.mark.parametrize("value", [None, True, 3, 1.5, "text", b"bytes", [1, ["a"]], {"a": 1}])
def test_plain_values_cross(value):
    assert wire.unpack(wire.pack(value)) == value


def test_tuples_stay_tuples():
    value = wire.tuples(wire.unpack(wire.pack((np.ones(2), (1, 2)))))
    assert isinstance(value, tuple)
    assert value[1] == (1, 2)


@pytest.mark.parametrize("value", [object(), np.array([object()]), np.array(["text"]), {1, 2}])
def test_objects_do_not_cross(value):
    with pytest.raises(TypeError):
        wire.pack(value)


def ext(header, body=b""):
    return msgpack.packb(msgpack.ExtType(wire.ARRAY, msgpack.packb(header) + body))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x91",
        msgpack.packb(msgpack.ExtType(5, b"x")),
        ext(["<f8", [2], "C"], b"\0" * 8),  # too short
        ext(["<f8", [2**40], "C"]),  # would allocate
        ext(["<f8", [-1], "C"], b""),
        ext(["|O", [1], "C"], b"\0" * 8),  # objects
        ext(["no dtype", [1], "C"], b"\0" * 8),
        ext(["<f8", "shape", "C"], b""),
        ext(["<f8", [1], "A"], b"\0" * 8),
        ext(["<f8", [1]], b"\0" * 8),
        ext("header"),
    ],
)
def test_what_is_no_message_is_refused(data):
    with pytest.raises(wire.Broken):
        wire.unpack(data)


@pytest.fixture
def pipe():
    source, target = os.pipe()
    yield source, target
    for end in (source, target):
        os.close(end)


def test_messages_go_through_a_pipe(pipe):
    wire.send(pipe[1], ["call", np.ones(3)])
    kind, array = wire.Source(pipe[0]).receive(wait=wire.by(time.monotonic() + 5))
    assert kind == "call"
    assert array.sum() == 3


def test_messages_come_one_by_one_however_they_were_written(pipe):
    source, wait = wire.Source(pipe[0]), wire.by(time.monotonic() + 5)
    first, second = wire.pack("first"), wire.pack(["second"])
    written = struct.pack("<I", len(first)) + first + struct.pack("<I", len(second)) + second
    os.write(pipe[1], written[:-3])
    assert source.receive(wait=wait) == "first"
    os.write(pipe[1], written[-3:])
    assert source.receive(wait=wait) == ["second"]


def test_a_claimed_length_is_not_believed(pipe):
    os.write(pipe[1], struct.pack("<I", 2**31))
    with pytest.raises(wire.Broken, match="at most"):
        wire.Source(pipe[0]).receive(wait=wire.by(time.monotonic() + 5))


def test_silence_ends_in_time(pipe):
    with pytest.raises(TimeoutError):
        wire.Source(pipe[0]).receive(wait=wire.by(time.monotonic() + 0.1))
    os.write(pipe[1], struct.pack("<I", 100) + b"half")
    with pytest.raises(TimeoutError):
        wire.Source(pipe[0]).receive(wait=wire.by(time.monotonic() + 0.1))
