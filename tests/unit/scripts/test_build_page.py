"""Building the page behind a proxy with a private certificate authority, and what is printed."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.build_page import CouldNotBuild, deno_environment, find_deno, install, remedy
from tests.kit.certificates import signed_by_private_ca
from tests.kit.npm_registry import forget_authorities, npm_registry

_SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "build_page.py"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page with one dependency, and an environment that names no certificate."""
    forget_authorities(monkeypatch, tmp_path)
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "package.json").write_text(json.dumps({"dependencies": {"nothing-here": "1.0.0"}}))
    return folder


@pytest.mark.parametrize("variable", ["PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_the_build_trusts_the_authority_that_pip_trusts(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    authority, certificate = signed_by_private_ca(tmp_path, "localhost")
    monkeypatch.setenv(variable, str(authority))
    with npm_registry(certificate) as (address, asked):
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", address)
        with pytest.raises(CouldNotBuild, match="nothing-here"):
            install(sources, find_deno())
    assert asked == ["/nothing-here"]


def test_the_build_trusts_the_authority_in_pips_configuration(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, certificate = signed_by_private_ca(tmp_path, "localhost")
    (tmp_path / "pip.conf").write_text(f"[global]\ncert = {authority}\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    with npm_registry(certificate) as (address, asked):
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", address)
        with pytest.raises(CouldNotBuild, match="nothing-here"):
            install(sources, find_deno())
    assert asked == ["/nothing-here"]


def test_an_authority_that_is_not_trusted_is_said_with_a_remedy(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, certificate = signed_by_private_ca(tmp_path, "localhost")
    with npm_registry(certificate) as (address, asked):
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", address)
        with pytest.raises(CouldNotBuild, match="set SSL_CERT_FILE"):
            install(sources, find_deno())
    assert asked == []


def test_what_the_user_said_to_deno_wins(sources: Path, tmp_path: Path) -> None:
    del sources
    other = tmp_path / "other.pem"
    other.touch()
    output = {"DENO_CERT": "/theirs.pem", "DENO_TLS_CA_STORE": "mozilla", "PIP_CERT": str(other)}
    made = deno_environment(output)
    assert (made["DENO_CERT"], made["DENO_TLS_CA_STORE"]) == ("/theirs.pem", "mozilla")
    assert deno_environment({"PIP_CERT": str(tmp_path / "missing.pem")}).get("DENO_CERT") is None


def test_each_known_failure_has_a_remedy_of_its_own() -> None:
    reached = "error sending request for url (https://localhost:1/x): client error (Connect)"
    assert "check the network" in remedy(reached)
    assert "SSL_CERT_FILE" in remedy(f"{reached}: invalid peer certificate: UnknownIssuer")
    assert "DENO_CERT names a file" in remedy("Failed opening CA file: No such file")
    assert remedy("Expected ; but found }") == ""


def test_a_build_that_waits_for_another_says_so(tmp_path: Path) -> None:
    into = tmp_path / "built"
    with into.with_name("built.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = subprocess.Popen(
            [sys.executable, str(_SCRIPT), "--into", str(into)], stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        output = process.stderr.readline()
        process.kill()
        process.communicate()
    assert output.startswith("Waiting for another command that builds the page")
