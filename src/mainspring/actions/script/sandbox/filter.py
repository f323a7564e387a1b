"""A filter of system calls: what a script's process never needs is refused by the kernel.

It closes what Landlock does not look at, UDP and name lookups above all: without a socket
there is no network of any kind. It needs no rights. Everything else stays allowed, so that
a new version of Deno does not break on it; it is the second wall, not the first.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from mainspring.actions.script.sandbox.system import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_SECCOMP,
    Kernel,
)

_MODE_FILTER = 2
_ALLOW, _REFUSE, _KILL = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
# Where the number, the architecture and the first argument stand in what is looked at.
_NUMBER, _ARCHITECTURE, _FIRST = 0, 4, 16
_ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_FOREIGN_NUMBERS = 0x4000_0000
_WORLDS = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET

# Sockets, other processes, other worlds, mounts, modules, keys, shared memory of System V.
# Then rights, owners, times and marks of files, which Landlock lets a file's own user change,
# and signals and priorities of other processes of the same user.
_REFUSED = {
    "x86_64": (
        41,
        29,
        64,
        68,
        101,
        155,
        161,
        163,
        165,
        166,
        167,
        169,
        175,
        176,
        240,
        246,
        248,
        249,
        250,
        272,
        298,
        303,
        304,
        308,
        310,
        311,
        313,
        320,
        321,
        323,
        90,
        91,
        268,
        92,
        93,
        94,
        260,
        132,
        235,
        261,
        280,
        188,
        189,
        190,
        197,
        198,
        199,
        62,
        200,
        129,
        297,
        141,
        142,
        144,
        203,
        251,
        314,
    ),
    "aarch64": (
        198,
        39,
        40,
        41,
        51,
        89,
        97,
        104,
        105,
        106,
        117,
        142,
        180,
        186,
        190,
        194,
        217,
        218,
        219,
        224,
        241,
        264,
        265,
        268,
        270,
        271,
        273,
        280,
        282,
        294,
        52,
        53,
        54,
        55,
        88,
        5,
        6,
        7,
        14,
        15,
        16,
        129,
        130,
        138,
        240,
        140,
        118,
        119,
        122,
        30,
        274,
    ),
}
# From 424 on the numbers are the same everywhere: io_uring, new mounts, handles of processes,
# rights and marks of files.
_REFUSED_EVERYWHERE = (
    424,
    425,
    426,
    427,
    428,
    429,
    430,
    431,
    432,
    433,
    434,
    438,
    442,
    452,
    463,
    466,
)
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_LIMITS = {"x86_64": 302, "aarch64": 261}


def build_filter(machine: str | None = None) -> bytes | None:
    """The program of the filter, or None on a machine whose numbers are not known."""
    machine = machine or os.uname().machine
    if machine not in _ARCHITECTURES:
        return None
    lines = [
        _encode_instruction(_LOAD, _ARCHITECTURE),
        _encode_instruction(_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _encode_instruction(_ANSWER, _KILL),
        _encode_instruction(_LOAD, _NUMBER),
        _encode_instruction(_AT_LEAST, _FOREIGN_NUMBERS, 0, 1),
        _encode_instruction(_ANSWER, _REFUSE | errno.EPERM),
    ]
    for number in (*_REFUSED[machine], *_REFUSED_EVERYWHERE):
        lines += [
            _encode_instruction(_EQUAL, number, 0, 1),
            _encode_instruction(_ANSWER, _REFUSE | errno.EACCES),
        ]
    # Its own limits it may ask for; those of the worker it could set to nothing.
    lines += [
        _encode_instruction(_EQUAL, _LIMITS[machine], 0, 4),
        _encode_instruction(_LOAD, _FIRST),
        _encode_instruction(_EQUAL, 0, 1, 0),
        _encode_instruction(_ANSWER, _REFUSE | errno.EPERM),
        _encode_instruction(_ANSWER, _ALLOW),
    ]
    # Its arguments cannot be seen; told that there is none, libc makes threads with the older.
    lines += [
        _encode_instruction(_EQUAL, _CLONE3, 0, 1),
        _encode_instruction(_ANSWER, _REFUSE | errno.ENOSYS),
    ]
    lines += [
        _encode_instruction(_EQUAL, _CLONE[machine], 0, 3),
        _encode_instruction(_LOAD, _FIRST),
        _encode_instruction(_ANY_BIT, _WORLDS, 0, 1),
        _encode_instruction(_ANSWER, _REFUSE | errno.EPERM),
        _encode_instruction(_ANSWER, _ALLOW),
    ]
    return b"".join(lines)


def put_on(kernel: Kernel, program: bytes) -> None:
    """For good, and for everything that this process becomes."""
    kernel.control(PR_SET_NO_NEW_PRIVS, 1)
    held = ctypes.create_string_buffer(program, len(program))
    wanted = struct.pack("@HP", len(program) // 8, ctypes.addressof(held))
    kernel.control(PR_SET_SECCOMP, _MODE_FILTER, ctypes.c_char_p(wanted))


def _encode_instruction(code: int, value: int, when: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, when, otherwise, value)
