"""Making the environment compiles the libraries that the first ask of a model would wait for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# Represents the environment's Python: says into a pipe what it was asked to import.
PYTHON = """#!/bin/sh
[ "$1" = -c ] && printf '%s|%s\\n' "$2" "${PYTHONDONTWRITEBYTECODE-}" >"$PIPE"
exit 0
"""


@pytest.mark.parametrize("mode", ["run", "dev"])
def test_an_install_compiles_what_asking_a_model_loads(tmp_path: Path, mode: str) -> None:
    (tmp_path / "bin").mkdir()
    python, pipe = tmp_path / "bin" / "python", tmp_path / "pipe"
    python.write_text(PYTHON)
    python.chmod(0o755)
    os.mkfifo(pipe)
    script = f'. "{ROOT}/scripts/environment.sh"; install {mode}'
    given = {
        "root": str(ROOT),
        "venv": str(tmp_path),
        "log": str(tmp_path / "log"),
        "PIPE": str(pipe),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    # It comes back at once: nobody waits for the compiling.
    subprocess.run(["sh", "-euc", script], env={**os.environ, **given}, check=True, timeout=60)
    asked = subprocess.run(["cat", str(pipe)], capture_output=True, check=True, timeout=60)
    assert asked.stdout.decode() == "import mainspring.outbound.models.sdk|\n"
    assert (tmp_path / "made-for-run").exists()
