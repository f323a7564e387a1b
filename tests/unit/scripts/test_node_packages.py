"""npm behind a proxy with a private certificate authority, as the tests and scripts run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.node_packages import NpmFailed, node_environment, run_npm
from tests.kit.certificates import signed_by_private_ca
from tests.kit.npm_registry import forget_authorities, npm_registry


@pytest.fixture(autouse=True)
def _no_authority(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    forget_authorities(monkeypatch, tmp_path)
    monkeypatch.setenv("NPM_CONFIG_FETCH_RETRIES", "0")
    (tmp_path / "package.json").write_text(json.dumps({"dependencies": {"nothing-here": "1.0.0"}}))


@pytest.mark.parametrize("variable", ["PIP_CERT", "SSL_CERT_FILE"])
def test_npm_trusts_the_authority_that_pip_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    authority, certificate = signed_by_private_ca(tmp_path, "localhost")
    monkeypatch.setenv(variable, str(authority))
    with npm_registry(certificate) as (address, asked):
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", address)
        with pytest.raises(NpmFailed, match="nothing-here"):
            run_npm("install", folder=tmp_path)
    assert "/nothing-here" in asked


def test_an_authority_that_nobody_named_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, certificate = signed_by_private_ca(tmp_path, "localhost")
    with npm_registry(certificate) as (address, asked):
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", address)
        with pytest.raises(NpmFailed, match="certificate"):
            run_npm("install", folder=tmp_path)
    assert asked == []


def test_what_the_user_named_for_node_wins(tmp_path: Path) -> None:
    authority, _ = signed_by_private_ca(tmp_path, "localhost")
    named = {"NODE_EXTRA_CA_CERTS": "/theirs.pem", "PIP_CERT": str(authority)}
    assert node_environment(named)["NODE_EXTRA_CA_CERTS"] == "/theirs.pem"
    deno = {"DENO_CERT": str(authority)}
    assert node_environment(deno)["NODE_EXTRA_CA_CERTS"] == str(authority)
    assert "NODE_EXTRA_CA_CERTS" not in node_environment({"PIP_CERT": "/missing.pem"})
