"""What the doctor finds about a server that is to be started."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from mainspring.actions.script.sandbox.isolation import Isolation, ProcessUser
from mainspring.contracts.errors import Conflict, Invalid
from mainspring.settings import Settings
from mainspring.surfaces.cli import checks
from mainspring.surfaces.cli.doctor import summarize_verdicts
from mainspring.surfaces.cli.listen_address import reserve_port
from mainspring.surfaces.cli.running_server import (
    find_running_server,
    hold_data_folder,
    refuse_second,
)
from mainspring.workspace.vault import VaultHealth


def outside(home: Path, **more: object) -> Settings:
    """Settings whose data folder is this one; the database is none of it."""
    return Settings(home=home, database_url="postgresql://nowhere/none", **more)  # type: ignore[arg-type]


def test_secrets_are_counted_in_words() -> None:
    output = [checks.secrets(VaultHealth(number)).detail for number in (0, 1, 2)]

    assert output == ["There are none yet.", "The one secret opens.", "All 2 secrets open."]


def test_a_free_port_is_well_and_looking_at_it_leaves_it_free(tmp_path: Path) -> None:
    with reserve_port(Settings(home=tmp_path, port=0)) as settings:
        port = settings.port
    for _ in range(2):
        check = checks.address(Settings(home=tmp_path, port=port))
        assert (check.verdict, str(port) in check.detail) == ("ok", True)
    assert list(tmp_path.iterdir()) == []


def test_a_port_where_somebody_listens_is_reported_with_a_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as accepted:
        check = checks.address(Settings(home=tmp_path, port=accepted.getsockname()[1]))

    assert check.verdict == "doubtful"
    assert "MAINSPRING_PORT" in (check.suggestion or "")


def test_a_reserved_port_can_be_listened_on_by_ours_alone() -> None:
    with reserve_port(Settings(port=0)) as settings:
        place = (settings.host, settings.port)
        with socket.create_server(place), pytest.raises(Conflict), reserve_port(settings):
            pass


@pytest.mark.parametrize("host", ["", "no such host", "192.0.2.1", "a" * 300, "\udc80"])
def test_a_host_that_is_not_here_is_a_finding(host: str) -> None:
    with pytest.raises(Invalid) as raised, reserve_port(Settings(host=host, port=0)):
        pass

    assert [finding.pointer for finding in raised.value.findings] == ["/host"]


def test_who_is_up_is_known_for_as_long_as_it_is(tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = outside(home, port=8421)
    assert find_running_server(home) is None
    with hold_data_folder(settings):
        standing = find_running_server(home)
        assert standing is not None
        assert standing.address == "http://127.0.0.1:8421"
        assert str(standing.pid) in checks.address(settings).detail
        with pytest.raises(Conflict, match=rf"process {standing.pid}, http://127\.0\.0\.1:8421"):
            refuse_second(home)
        with pytest.raises(Conflict), hold_data_folder(settings):
            pass
    assert find_running_server(home) is None
    refuse_second(home)


@pytest.mark.parametrize("left", [b"", b"null", b"{", b'{"pid": "x"}', b"\xff" * 9_000])
def test_what_an_ended_server_left_behind_is_no_obstacle(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "up.lock").write_bytes(left)

    assert find_running_server(tmp_path) is None
    with hold_data_folder(outside(tmp_path)):
        assert find_running_server(tmp_path) is not None


@pytest.mark.parametrize(
    ("host", "url", "verdict"),
    [
        ("127.0.0.1", None, "ok"),
        ("0.0.0.0", None, "doubtful"),
        ("0.0.0.0", "https://mainspring.example", "ok"),
        ("127.0.0.1", "https://mainspring.example/here", "ok"),
        ("127.0.0.1", "mainspring.example", "wrong"),
        ("127.0.0.1", "https://user@mainspring.example", "wrong"),
        ("127.0.0.1", "https://", "wrong"),
        ("127.0.0.1", "https://mainspring.example?x", "wrong"),
    ],
)
def test_links_must_lead_somewhere(host: str, url: str | None, verdict: str) -> None:
    check = checks.public_address(Settings(host=host, public_url=url))

    assert check.verdict == verdict
    assert (check.suggestion is None) is (verdict == "ok")


def test_mail_is_reported_as_it_is_set_and_never_with_its_password() -> None:
    assert checks.mail(Settings()).verdict == "ok"
    url = "smtp://somebody:hunter2@mail.example:587"
    half = checks.mail(Settings(smtp_url=url))
    whole = checks.mail(Settings(smtp_url=url, owner_mail="owner@mail.example"))
    assert (half.verdict, whole.verdict) == ("doubtful", "ok")
    assert "hunter2" not in str(half) + str(whole)
    with pytest.raises(Invalid) as raised:
        checks.mail(Settings(smtp_url="http://somebody:hunter2@mail.example"))
    assert "hunter2" not in str(raised.value.as_dict())


def test_scripts_with_one_isolation_layer_are_doubtful_and_the_remedy_is_reported() -> None:
    weak = checks.scripts(Isolation())
    assert weak.verdict == "doubtful"
    assert "Landlock" in weak.detail
    assert "user namespaces" in (weak.suggestion or "")
    strong = checks.scripts(Isolation(landlock=4, filtered=True, user=ProcessUser.NOBODY))
    assert (strong.verdict, strong.suggestion) == ("ok", None)
    assert "Landlock (version 4)" in strong.detail


def test_model_connections_are_counted_and_keys_that_do_not_open_are_named() -> None:
    none, two = checks.model_connections(0, []), checks.model_connections(2, [])
    closed = checks.model_connections(3, ["openai", "groq"])

    assert (none.verdict, "models connect anthropic" in none.detail) == ("ok", True)
    assert (two.verdict, two.detail) == ("ok", "2 model connections, and their keys open.")
    assert (closed.verdict, "groq, openai" in closed.detail) == ("wrong", True)
    assert "connect these models again" in str(closed.suggestion)


def test_the_last_line_says_what_failed_and_what_needs_attention() -> None:
    assert summarize_verdicts(["ok", "ok"]) == "All is well."
    doubtful = "Nothing is wrong; 1 of 2 checks need attention."
    assert summarize_verdicts(["ok", "doubtful"]) == doubtful
    assert summarize_verdicts(["wrong", "doubtful", "ok"]) == "1 of 3 checks failed."
