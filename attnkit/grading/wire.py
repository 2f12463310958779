"""What crosses between the judge and the learner's process: plain data, never objects.

Messages are msgpack, with an extension type for arrays whose dtype and size are checked before
anything is made of them. Nothing is unpickled.
"""

import math
import os
import select
import struct
import time

import msgpack
import numpy as np

LARGEST = 64 * 2**20  # bytes in one message
ARRAY = 1  # the number of the extension type
KINDS = "fiubc"


class Broken(Exception):
    """The other side sent what is no message, or went away, or took too long."""


def pack(value):
    """Bytes of a value made of None, numbers, text, bytes, arrays, lists, tuples and dicts."""
    return msgpack.packb(value, default=_encode, strict_types=True)


def unpack(data):
    """The value that ``pack`` wrote; Broken for anything else."""
    try:
        return msgpack.unpackb(
            data, ext_hook=_decode, strict_map_key=False, use_list=True, raw=False
        )
    except Broken:
        raise
    except Exception as error:  # msgpack raises many kinds
        raise Broken(f"not a message: {type(error).__name__}") from None


def by(deadline):
    """Waits for a descriptor until a time of time.monotonic, and then raises TimeoutError."""

    def wait(descriptor, event):
        if not ready(descriptor, event, deadline - time.monotonic()):
            raise TimeoutError

    return wait


def ready(descriptor, event, seconds):
    """Whether one can read or write within so many seconds."""
    poll = select.poll()
    poll.register(descriptor, event)
    return bool(poll.poll(max(0.0, 1000 * seconds)))


def send(descriptor, value, *, wait=None):
    """Write one message; before each part ``wait`` may lose its patience, such as ``by`` does."""
    data = pack(value)
    if len(data) > LARGEST:
        raise Broken(f"a message of {len(data):,} bytes; at most {LARGEST:,} are sent")
    view = memoryview(struct.pack("<I", len(data)) + data)
    while view:
        if wait:
            wait(descriptor, select.POLLOUT)
        try:
            view = view[os.write(descriptor, view[:65536]) :]
        except OSError as error:
            raise Broken(f"the other side is gone: {error.strerror}") from None


class Source:
    """Where messages come from: the reading end of a pipe, and what was read of the next ones."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self._data = bytearray()

    def receive(self, *, wait=None, largest=LARGEST):
        """The next message; before each part ``wait`` may lose its patience."""
        (size,) = struct.unpack("<I", self._take(4, wait))
        if size > largest:
            raise Broken(f"a message of {size:,} bytes; at most {largest:,} are read")
        return unpack(self._take(size, wait))

    def _take(self, size, wait):
        while len(self._data) < size:
            if wait:
                wait(self.descriptor, select.POLLIN)
            part = os.read(self.descriptor, 65536)
            if not part:
                raise Broken("the other side is gone")
            self._data += part
        taken = bytes(self._data[:size])
        del self._data[:size]
        return taken


def _encode(value):
    if isinstance(value, tuple):
        return {"tuple": list(value)}
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
        # Memory laid out by columns stays so: an answer has to be right for both.
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        header = msgpack.packb([value.dtype.str, list(value.shape), order])
        return msgpack.ExtType(ARRAY, header + value.tobytes(order))
    raise TypeError(f"{type(value).__name__} does not cross")


def _decode(code, data):
    if code != ARRAY:
        raise Broken(f"extension {code}")
    unpacker = msgpack.Unpacker(max_buffer_size=LARGEST + 64)
    unpacker.feed(data)
    header = unpacker.unpack()
    body = data[unpacker.tell() :]
    if not (isinstance(header, list) and len(header) == 3 and header[2] in ("C", "F")):
        raise Broken("array without a header")
    name, shape, order = header
    try:
        dtype = np.dtype(name)
    except TypeError:
        raise Broken(f"dtype {name!r}") from None
    sizes = isinstance(shape, list) and len(shape) <= 16
    if not (sizes and all(isinstance(n, int) and 0 <= n < 2**31 for n in shape)):
        raise Broken(f"shape {shape!r}")
    if dtype.kind not in KINDS or dtype.itemsize * math.prod(shape) != len(body):
        raise Broken(f"an array of {dtype} and {shape} in {len(body)} bytes")
    return np.frombuffer(body, dtype).reshape(shape, order=order).copy(order)


def tuples(value):
    """The value with tuples where ``{"tuple": [...]}`` stands for them."""
    match value:
        case {"tuple": list(members)}:
            return tuple(map(tuples, members))
    return value
