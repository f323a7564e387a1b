"""Landlock: the kernel itself refuses every path that is not on the list.

It needs no rights and is kept by whatever the process becomes. The paths are opened once by
the launcher; a child adds the one that is its own, and steps behind the list.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from mainspring.actions.script.sandbox.system import PR_SET_NO_NEW_PRIVS, Kernel

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_EXECUTE, _READ_FILE, _READ_FOLDER = 1, 4, 8
_FILES_OF_FIRST = (1 << 13) - 1
# Each later version of Landlock knows more: (version, right on files).
_FILES_SINCE = ((2, 1 << 13), (3, 1 << 14), (5, 1 << 15))
_TCP, _TCP_SINCE = 3, 4
_SCOPES, _SCOPES_SINCE = 3, 6
_PATH_BENEATH = 1
_ASK_VERSION = 1


def get_landlock_version(kernel: Kernel) -> int:
    """0 where there is none."""
    try:
        return kernel.system_call(_CREATE, None, 0, _ASK_VERSION)
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class AllowedPath:
    """A path that was opened once, and the rights that it is given."""

    opened: int
    rights: int


def open_allowed(readable: Iterable[str], runnable: Iterable[str]) -> tuple[AllowedPath, ...]:
    """What is there of these; a path that is not there needs no right."""
    found = [_open_allowed_path(path, 0) for path in readable]
    found += [_open_allowed_path(path, _EXECUTE) for path in runnable]
    return tuple(allowed for allowed in found if allowed is not None)


def build_ruleset(kernel: Kernel, version: int, allowed: Iterable[AllowedPath]) -> int:
    """A ruleset that lets these be read or run, and nothing be written or dialled."""
    files = _FILES_OF_FIRST | sum(right for since, right in _FILES_SINCE if version >= since)
    tcp = _TCP if version >= _TCP_SINCE else 0
    scopes = _SCOPES if version >= _SCOPES_SINCE else 0
    size = 8 if version < _TCP_SINCE else 16 if version < _SCOPES_SINCE else 24
    wanted = struct.pack("=QQQ", files, tcp, scopes)
    ruleset = kernel.system_call(_CREATE, ctypes.c_char_p(wanted), size, 0)
    for one in allowed:
        rule = struct.pack("=Qi", one.rights, one.opened)
        kernel.system_call(_ADD, ruleset, _PATH_BENEATH, ctypes.c_char_p(rule), 0)
    return ruleset


def restrict_self(kernel: Kernel, ruleset: int) -> None:
    """For good, and for everything that this process becomes."""
    kernel.control(PR_SET_NO_NEW_PRIVS, 1)
    kernel.system_call(_RESTRICT, ruleset, 0)


def _open_allowed_path(path: str, more: int) -> AllowedPath | None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    folder = stat.S_ISDIR(os.fstat(opened).st_mode)
    return AllowedPath(opened, _READ_FILE | more | (_READ_FOLDER if folder else 0))
