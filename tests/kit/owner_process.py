"""A process that owns a data folder until it is killed or its input ends.

    python -m tests.kit.owner_process HOME [UID GID INTERPRETER]

It prints the number of its Postgres once that answers. Given a user it becomes that user
first, after everything is loaded: an interpreter in root's private home can only be read
until then. INTERPRETER is one that the user may run, for what the server is started by.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mainspring.store.embedded import EmbeddedServer
from mainspring.store.postgres_programs import SystemUser, copy_for_user, find_binaries


def main(home: Path, user: list[str]) -> None:
    binaries = find_binaries()
    if user:
        uid, gid = int(user[0]), int(user[1])
        account = SystemUser(uid, gid, user[0], switched=True)
        binaries = copy_for_user(binaries, account, home.parent)
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
        sys.executable = user[2]
    server = EmbeddedServer(home, binaries=binaries)
    server.start()
    sys.stdout.write(f"{server.pid}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
