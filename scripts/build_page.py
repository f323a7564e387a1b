"""Builds the web page, with Deno and without Node, and the documentation site, with MkDocs.

    python scripts/build_page.py [--only page|docs] [--into FOLDER] [--docs-into FOLDER]

Both are built into the package, so that a wheel carries them; a checkout that cannot be written
has them built elsewhere. What is built already from the same sources is left as it is. This
module imports nothing but the standard library: it also runs while a wheel is made.
"""

from __future__ import annotations

import argparse
import fcntl
import gzip
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
BUILT: Final = ROOT / "src" / "mainspring" / "surfaces" / "web" / "built"
BUILT_DOCS: Final = ROOT / "src" / "mainspring" / "surfaces" / "web" / "built_docs"
# What the page is built from; tests are next to the sources and do not count.
_SOURCES: Final = (
    "src",
    "public",
    "index.html",
    "form.html",
    "package.json",
    "deno.lock",
    "deno.json",
    "vite.config.ts",
)
# What the documentation site is built from.
_DOCS_SOURCES: Final = (
    "docs",
    "examples",
    "mkdocs.yml",
    "scripts/docs_hooks.py",
    "src/mainspring/__init__.py",
)
_STAMP: Final = "made-from"
# The files of the documentation site, each with the digest of its content.
_MANIFEST: Final = "files.json"
_SQUEEZED: Final = frozenset({".js", ".css", ".svg"})
_SQUEEZED_DOCS: Final = _SQUEEZED | {".html", ".json"}
_QUIET: Final = {
    "NO_COLOR": "1",
    "NO_MKDOCS_2_WARNING": "1",
    "DENO_NO_UPDATE_CHECK": "1",
    "DENO_NO_PROMPT": "1",
}
# Where other tools of this machine find a private certificate authority; pip's first,
# because pip has just installed Deno through the same proxy.
_CA_VARIABLES: Final = (
    "PIP_CERT",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "DENO_CERT",
)
_PROGRESS_SECONDS: Final = 10.0


class CouldNotBuild(Exception):
    """A message for a caller that needs the page."""


def main(arguments: list[str]) -> int:
    """Builds what is stale; says in a sentence what could not be built, and why."""
    reader = argparse.ArgumentParser(description="Builds the web page and the documentation site.")
    reader.add_argument("--only", choices=("page", "docs"))
    reader.add_argument("--into", type=Path, default=BUILT)
    reader.add_argument("--docs-into", type=Path, default=BUILT_DOCS)
    asked = reader.parse_args(arguments)
    makers: dict[str, Callable[[], bool]] = {
        "page": lambda: build(ROOT / "web", asked.into),
        "docs": lambda: build_docs(ROOT, asked.docs_into),
    }
    failed = False
    for name, make in makers.items():
        if asked.only not in (None, name):
            continue
        try:
            make()
        except CouldNotBuild as problem:
            print(problem, file=sys.stderr)
            failed = True
    return 1 if failed else 0


def build(sources: Path, into: Path, deno: str | None = None) -> bool:
    """Builds the page into a folder; False: it was there already."""
    digest = digest_of(sources)
    if _is_made(into, digest):
        return False
    with _turn(into, "page"):
        # Two commands at once take turns, and the second finds the work done.
        if _is_made(into, digest):
            return False
        print("Building the web page (once, and when it has changed) ...", file=sys.stderr)
        _build(sources, into, digest, deno or find_deno())
    return True


def _build(sources: Path, into: Path, digest: str, deno: str) -> None:
    workshop = sources if os.access(sources, os.W_OK) else _copied(sources, into)
    install(workshop, deno)
    # Built in another folder and then moved: a server that starts meanwhile finds a whole page.
    fresh = into.with_name(f"{into.name}.{os.getpid()}")
    command = ("run", "--allow-all", "npm:vite", "build", "--emptyOutDir", "--logLevel", "warn")
    _run([deno, *command, "--outDir", str(fresh)], workshop, "building the page")
    for path in _files(fresh):
        if path.suffix in _SQUEEZED:
            squeezed = gzip.compress(path.read_bytes(), compresslevel=9, mtime=0)
            path.with_name(f"{path.name}.gz").write_bytes(squeezed)
    (fresh / _STAMP).write_text(digest, encoding="utf-8")
    shutil.rmtree(into, ignore_errors=True)
    fresh.rename(into)


def build_docs(root: Path, into: Path) -> bool:
    """Builds the documentation site into a folder; False: it was there already."""
    digest = _digest(root, _DOCS_SOURCES)
    if _is_made(into, digest):
        return False
    with _turn(into, "documentation"):
        if _is_made(into, digest):
            return False
        print("Building the documentation (once, and when it has changed) ...", file=sys.stderr)
        _build_docs(root, into, digest)
    return True


def _build_docs(root: Path, into: Path, digest: str) -> None:
    if importlib.util.find_spec("material") is None or importlib.util.find_spec("mkdocs") is None:
        raise CouldNotBuild(
            "The documentation could not be built: it needs mkdocs-material, which pip installs:"
            " pip install 'mkdocs-material>=9.8,<10' 'mkdocs<2'"
        )
    fresh = into.with_name(f"{into.name}.{os.getpid()}")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    command += ["--config-file", str(root / "mkdocs.yml"), "--site-dir", str(fresh)]
    try:
        _run(command, root, "building the documentation", of="documentation")
    except CouldNotBuild:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    manifest: dict[str, str] = {}
    for path in list(_files(fresh)):
        content = path.read_bytes()
        manifest[path.relative_to(fresh).as_posix()] = hashlib.sha256(content).hexdigest()[:16]
        if path.suffix in _SQUEEZED_DOCS:
            squeezed = gzip.compress(content, compresslevel=9, mtime=0)
            path.with_name(f"{path.name}.gz").write_bytes(squeezed)
    (fresh / _MANIFEST).write_text(json.dumps(manifest, indent=0), encoding="utf-8")
    (fresh / _STAMP).write_text(digest, encoding="utf-8")
    shutil.rmtree(into, ignore_errors=True)
    fresh.rename(into)


def _is_made(into: Path, digest: str) -> bool:
    stamp = into / _STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == digest


@contextmanager
def _turn(into: Path, of: str) -> Iterator[None]:
    into.parent.mkdir(parents=True, exist_ok=True)
    with into.with_name(f"{into.name}.lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(
                f"Waiting for another command that builds the {of} (it locks {lock.name}) ...",
                file=sys.stderr,
            )
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(sources: Path, deno: str | None = None) -> None:
    """The packages that the page is made of, exactly as the lock file names them."""
    command = [deno or find_deno(), "install", "--frozen", "--quiet"]
    _run(command, sources, "downloading the page's npm packages")


def digest_of(sources: Path) -> str:
    """One word for exactly these sources."""
    return _digest(sources, _SOURCES)


def _digest(sources: Path, names: tuple[str, ...]) -> str:
    made = hashlib.sha256()
    for path in _files(*(sources / name for name in names)):
        if ".test." not in path.name:
            made.update(f"{path.relative_to(sources).as_posix()}\0".encode())
            made.update(hashlib.sha256(path.read_bytes()).digest())
    return made.hexdigest()


def find_deno() -> str:
    """The deno of this environment: next to its Python, else on the PATH of a build."""
    other = Path(sys.executable).with_name("deno")
    found = str(other) if other.is_file() else shutil.which("deno")
    if found is None:
        raise CouldNotBuild("Building the page needs deno, which pip installs: pip install deno")
    return found


def _files(*places: Path) -> Iterator[Path]:
    for place in places:
        found = sorted(place.rglob("*")) if place.is_dir() else [place]
        yield from (path for path in found if path.is_file())


def _copied(sources: Path, into: Path) -> Path:
    """Where the checkout is somebody else's, the page is built in a folder of ours."""
    workshop = into.with_name(f"{into.name}-sources")
    shutil.copytree(
        sources, workshop, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules")
    )
    return workshop


def deno_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for Deno: it trusts the certificate authorities that pip trusts.

    Deno reads neither pip's variables nor, unless asked, the system's store.
    """
    made = {"DENO_TLS_CA_STORE": "system,mozilla", **environment, **_QUIET}
    if "DENO_CERT" not in made:
        authorities = find_authorities(made)
        if authorities is not None:
            made["DENO_CERT"] = authorities
    return made


def find_authorities(environment: Mapping[str, str]) -> str | None:
    """The file of certificate authorities that the environment or pip's configuration names."""
    for name in _CA_VARIABLES:
        if Path(environment.get(name, "")).is_file():
            return environment[name]
    return _pip_certificate()


def _pip_certificate() -> str | None:
    """The file that pip's own configuration names, if there is one."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    for line in asked.stdout.splitlines():
        name, _, value = line.partition("=")
        if name == "global.cert" and Path(value.strip("'")).is_file():
            return value.strip("'")
    return None


def _run(command: list[str], folder: Path, activity: str, *, of: str = "page") -> None:
    with subprocess.Popen(
        command,
        cwd=folder,
        env=deno_environment(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        out, err = _finish(process, activity)
    if process.returncode:
        output = (err.strip() or out.strip())[-2000:]
        raise CouldNotBuild(
            f"The {of} could not be built: {activity} failed.\n{output}{remedy(output)}"
        )


def _finish(process: subprocess.Popen[str], activity: str) -> tuple[str, str]:
    begun = time.monotonic()
    while True:
        try:
            return process.communicate(timeout=_PROGRESS_SECONDS)
        except subprocess.TimeoutExpired:
            seconds = round(time.monotonic() - begun)
            print(f"  still {activity} ({seconds} s)", file=sys.stderr)


def remedy(output: str) -> str:
    """What to do about a failure that Deno reports in its own terms; empty if unknown."""
    if "invalid peer certificate" in output:
        return (
            "\nThe package registry's certificate is signed by an authority that is not trusted"
            " here. Behind a company proxy, set SSL_CERT_FILE (or DENO_CERT) to the PEM file of"
            " the company's certificate authority and run this command again."
        )
    if "Failed opening CA file" in output:
        return "\nDENO_CERT names a file that cannot be read: correct it and run this again."
    if "error sending request" in output:
        return (
            "\nThe npm registry cannot be reached: check the network, HTTPS_PROXY and"
            " NPM_CONFIG_REGISTRY, then run this command again."
        )
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
