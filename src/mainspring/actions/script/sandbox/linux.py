"""Linux system calls that Python does not wrap."""

from __future__ import annotations

import ctypes
import os
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38

CLONE_NEWNS = 0x0002_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

_CLOSE_RANGE = 436
_CLOSE_RANGE_CLOEXEC = 4
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CLONE = {"x86_64": 56, "aarch64": 220}


class Kernel:
    """libc, opened once; a call that fails raises ``OSError`` with its reason.

    ``PyDLL`` keeps the GIL, which a manual fork must not lose.
    """

    def __init__(self) -> None:
        self._libc = ctypes.PyDLL(None, use_errno=True)
        self._machine = os.uname().machine

    def call(self, name: str, *arguments: Any) -> int:
        return self._checked(name, int(getattr(self._libc, name)(*arguments)))

    def system_call(self, number: int, *arguments: Any) -> int:
        sized = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
        return self._checked(str(number), int(self._libc.syscall(ctypes.c_long(number), *sized)))

    def control(self, option: int, *values: Any) -> None:
        """``prctl`` on the current process."""
        whole = [*values, 0, 0, 0, 0][:4]
        sized = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in whole]
        self.call("prctl", option, *sized)

    def unshare(self, flags: int) -> None:
        self.call("unshare", flags)

    def mount(
        self, source: str | None, target: str, kind: str | None, flags: int, data: str | None = None
    ) -> None:
        texts = [None if text is None else text.encode() for text in (source, target, kind, data)]
        self.call("mount", texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])

    def pivot_root(self, new: str, old: str) -> None:
        self.system_call(_PIVOT_ROOT[self._machine], new.encode(), old.encode())

    def detach(self, target: str) -> None:
        self.call("umount2", target.encode(), MNT_DETACH)

    def fork_pid_namespace(self) -> int:
        """Like ``os.fork``, with the child as the first process of a new PID namespace."""
        # 17 is SIGCHLD: the end of the child is reported like that of any other.
        return self.system_call(_CLONE[self._machine], CLONE_NEWPID | 17, 0, 0, 0, 0)

    def close_on_exec_from(self, first: int) -> None:
        try:
            self.system_call(_CLOSE_RANGE, first, 0xFFFF_FFFF, _CLOSE_RANGE_CLOEXEC)
        except OSError:
            for number in _open_files():
                if number >= first:
                    os.set_inheritable(number, False)

    def _checked(self, what: str, answer: int) -> int:
        if answer < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{what}: {os.strerror(number)}")
        return answer


def _open_files() -> list[int]:
    found = []
    for number in range(3, 1024):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found
