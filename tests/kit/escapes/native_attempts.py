"""What native code asks the kernel for; runs in the sandbox, with nothing but Python itself.

Each attempt answers what it got, or None when it was refused. It does no harm where it succeeds.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True)
# The number of a call on each of the two machines that are known.
_MACHINE = ("x86_64", "aarch64").index(os.uname().machine)
_NUMBERS = {
    "ptrace": (101, 117),
    "keyctl": (250, 219),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "bpf": (321, 280),
    "open_by_handle_at": (304, 265),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "process_vm_readv": (310, 270),
    "prlimit64": (302, 261),
    "rt_sigqueueinfo": (129, 138),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "ioprio_set": (251, 30),
    "socket": (41, 198),
}
_FOREIGN = 0x4000_0000


def _call(name: str | int, *arguments: Any) -> int:
    number = _NUMBERS[name][_MACHINE] if isinstance(name, str) else name
    sized = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    answer = int(_LIBC.syscall(ctypes.c_long(number), *sized))
    if answer < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return answer


def _read(path: str) -> bytes:
    with open(path, "rb") as opened:
        return opened.read(4096)


def _dial(kind: socket.SocketKind, address: Any, family: int = socket.AF_INET) -> str:
    with socket.socket(family, kind) as line:
        line.connect(address)
        if kind is socket.SOCK_DGRAM:
            line.send(b"x")
    return "connected"


def _files(folder: str, worker: int) -> dict[str, Callable[[], Any]]:
    here, left = f"{folder}/open.txt", f"{folder}/left"
    passing = f"left-{os.path.basename(folder)}"
    paths = (
        here,
        f"{folder}/master.key",
        f"{folder}/database/rows",
        "/etc/passwd",
        "/dev/kmsg",
        f"/proc/{worker}/environ",
        f"/proc/{worker}/mem",
        f"/proc/{worker}/maps",
        f"/proc/{worker}/cmdline",
        f"/proc/{worker}/root{here}",
        f"/proc/self/root{here}",
        "/proc/self/environ",
        "/proc/self/mountinfo",
        "/proc/1/environ",
    )
    reads = {f"read {path}": (lambda path=path: _read(path)) for path in paths}
    return {
        **reads,
        "list": lambda: os.listdir(folder),
        "write": lambda: os.open(left, os.O_CREAT | os.O_WRONLY),
        "append": lambda: os.open(here, os.O_WRONLY),
        "unlink": lambda: os.unlink(f"{folder}/open.env"),
        "rename": lambda: os.rename(f"{folder}/open.env", left),
        "link": lambda: os.link(here, left),
        "symlink": lambda: os.symlink(here, left),
        "mkdir": lambda: os.mkdir(left),
        "mkfifo": lambda: os.mkfifo(left),
        "chmod": lambda: os.chmod(here, 0o777),
        "chown": lambda: os.chown(here, -1, -1),
        "utime": lambda: os.utime(here, (1, 1)),
        "truncate": lambda: os.truncate(here, 0),
        "setxattr": lambda: os.setxattr(here, "user.x", b"x"),
        "shared memory": lambda: os.open(f"/dev/shm/{passing}", os.O_CREAT | os.O_RDWR),
        "a passing folder": lambda: os.mkdir(f"/tmp/{passing}"),
        "another program": lambda: os.posix_spawn("/bin/true", ["true"], {}),
    }


def _lines(result: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    stream, datagram, unix = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.AF_UNIX
    return {
        "tcp": lambda: _dial(stream, ("127.0.0.1", result["tcp"])),
        "udp": lambda: _dial(datagram, ("127.0.0.1", result["udp"])),
        "unix": lambda: _dial(stream, f"{result['folder']}/socket", unix),
        "abstract": lambda: _dial(stream, f"\0{result['abstract']}", unix),
        "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0),
        "packets": lambda: socket.socket(17, 3, 0),
        "vsock": lambda: socket.socket(40, stream),
        "raw": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
        "numbers of another kind": lambda: _call(_FOREIGN + _NUMBERS["socket"][_MACHINE], 2, 1, 0),
    }


def _others(worker: int, priority: int) -> dict[str, Callable[[], Any]]:
    room = ctypes.create_string_buffer(256)
    return {
        "signal": lambda: os.kill(worker, 0),
        "signal a group": lambda: os.killpg(os.getpgid(worker), 0),
        "signal everybody": lambda: os.kill(-1, signal.SIGCONT),
        "signal a thread": lambda: _call("tkill", worker, 0),
        "signal a thread of a group": lambda: _call("tgkill", worker, worker, 0),
        "queue a signal": lambda: _call("rt_sigqueueinfo", worker, 0, room),
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, worker, priority),
        "affinity": lambda: os.sched_setaffinity(worker, os.sched_getaffinity(0)),
        "disk priority": lambda: _call("ioprio_set", 1, worker, 0),
        "limits": lambda: _call("prlimit64", worker, 7, 0, room),
        "trace": lambda: _call("ptrace", 0x4206, worker, 0, 0),
        "read memory": lambda: _call("process_vm_readv", worker, room, 1, room, 1, 0),
        "handle of a process": lambda: _call(434, worker, 0),
        "files of a process": lambda: _call(438, 3, 0, 0),
    }


def _kernel() -> dict[str, Callable[[], Any]]:
    room = ctypes.create_string_buffer(256)
    return {
        "io_uring": lambda: _call(425, 8, room),
        "bpf": lambda: _call("bpf", 0, room, 64),
        "keys": lambda: _call("keyctl", 0, -3, 1),
        "old shared memory": lambda: _call("shmget", 0, 4096, 0o1777),
        "old queues": lambda: _call("msgget", 0, 0o1777),
        "a world of users": lambda: _call("unshare", 0x1000_0000),
        "another world": lambda: _call("setns", 0, 0),
        "mount": lambda: _call("mount", b"none", b"/", b"tmpfs", 0, 0),
        "a copy of the tree": lambda: _call(428, -100, b"/", 1),
        "files by handle": lambda: _call("open_by_handle_at", -100, room, 0),
        "counters": lambda: _call("perf_event_open", room, 0, -1, -1, 0),
        "page faults": lambda: _call("userfaultfd", 0),
        "root": lambda: os.setuid(0),
        "another root folder": lambda: os.chroot("/"),
    }


def main(result: dict[str, Any]) -> None:
    got: dict[str, str | None] = {}
    worker = result["worker"]
    tables = (_files(result["folder"], worker), _lines(result), _others(worker, result["priority"]))
    for table in (*tables, _kernel()):
        for name, what in table.items():
            try:
                got[name] = str(what())[:200]
            except OSError:
                got[name] = None
    sys.stdout.write(json.dumps(got) + "\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
