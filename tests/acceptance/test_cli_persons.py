"""Who is a person on the command line: a prompt that is answered on a terminal, and nothing else.

Each command runs on a real pseudo-terminal where a person gives it, and without one, with
``--json`` or with a token where a program does.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.acceptance.commands import PATIENCE, Ended, Mainspring, definition, step
from tests.acceptance.conftest import Write
from tests.acceptance.server import PREFIX, Started, started

DAILY = {"type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
ANSWER = step("answer", "transform_data", output="42")
FETCH = step("get", "http_fetch", url="https://a.example/")
CODE = re.compile(r"^  ([B-Z]{4}-[B-Z]{4})$", re.MULTILINE)


@pytest.fixture(scope="module")
def server(mainspring: Mainspring) -> Iterator[Started]:
    with started(mainspring) as made:
        yield made


def _refused(ended: Ended, code: str) -> dict[str, Any]:
    found: dict[str, Any] = ended.json
    assert (ended.code, found["code"]) == (1, code), ended.output
    return found


def _state(mainspring: Mainspring, name: str) -> str:
    listed = mainspring("list", "--json").json["automations"]
    return next(str(one["state"]) for one in listed if one["name"] == name)


def _import(mainspring: Mainspring, write: Write, name: str) -> dict[str, Any]:
    """What a program has brought in, which waits for a person."""
    file = write(definition(name, [ANSWER], triggers=[DAILY]))
    (made,) = mainspring("import", file, "--json").json["imported"]
    found: dict[str, Any] = made["consent"]
    return found


def test_a_person_activates_what_waits_by_answering_on_a_terminal(
    server: Started, write: Write
) -> None:
    mainspring = server.mainspring
    by_token = {"token": (mainspring.home / "owner.token").read_text().strip()}
    consent = _import(mainspring, write, "Waits")
    # A pipe, --json and a token are programs, with the digest or without it.
    for words in (("activate", "Waits"), ("fire", "Waits")):
        refused = _refused(mainspring(*words, "--json"), "consent_needed")
        assert "It starts once a day." in [one["detail"] for one in refused["errors"]]
        assert mainspring(*words, stdin=b"y\n").code == 1
        written = mainspring.asked(*words, "--json", answers=[])
        shown = mainspring.asked(*words, answers=[], settings=by_token)
        assert (written.code, "consent_needed" in written.out) == (1, True), written.output
        assert (shown.code, "A person must first consent" in shown.out) == (1, True), shown.output
    agree = ("consents", "agree", "Waits")
    digest = ("--digest", consent["digest"])
    refused = _refused(mainspring(*agree, *digest, "--json"), "person_needed")
    assert f"{server.address}/automations/" in refused["suggestion"]
    assert _refused(mainspring(*agree, *digest, "--json", settings=by_token), "person_needed")
    shown = mainspring.asked(*agree, *digest, answers=[], settings=by_token)
    assert (shown.code, "a program cannot" in shown.out) == (1, True), shown.output
    assert _state(mainspring, "Waits") == "paused"

    # A person who says no, and one who says yes: they saw each thing it may do.
    declined = mainspring.asked("activate", "Waits", answers=["n"])
    assert (declined.code, "- It starts once a day." in declined.out) == (1, True)
    assert _state(mainspring, "Waits") == "paused"
    agreed = mainspring.asked("activate", "Waits", answers=["y"])
    assert (agreed.code, "is active" in agreed.out) == (0, True), agreed.output
    # Agreed to, it can be paused and activated again without another question.
    assert mainspring("pause", "Waits").code == 0
    assert mainspring("activate", "Waits", "--json").json["state"] == "active"


def test_a_person_agrees_when_they_save_and_a_program_that_widens_waits(
    server: Started, write: Write
) -> None:
    mainspring = server.mainspring
    file = write(definition("Kept", [ANSWER], triggers=[DAILY]))
    no = mainspring.asked("save", file, answers=["n"])
    assert (no.code, "Not saved" in no.out) == (1, True)
    yes = mainspring.asked("save", file, answers=["y"])
    assert (yes.code, "- It starts once a day." in yes.out) == (0, True), yes.output
    # They have agreed: no second question.
    assert mainspring.asked("activate", "Kept", answers=[]).code == 0

    wider = write(definition("Kept", [ANSWER, FETCH], triggers=[DAILY]))
    # What is missing is said, with the page and the command; no command that would be refused.
    printed = mainspring("save", wider).out
    assert "It does not start before a person agrees to this:" in printed
    assert "- It may now send requests to a.example." in printed
    assert f"A person answers at {server.address}/automations/" in printed
    assert "mainspring consents agree " in printed
    assert "mainspring activate" not in printed
    assert "mainspring fire" not in printed
    saved = mainspring("save", wider, "--json").json
    assert saved["state"] == "paused"
    assert "It may now send requests to a.example." in [
        one["says"] for one in saved["consent"]["additions"]
    ]
    _refused(mainspring("activate", "Kept", "--json"), "consent_needed")
    assert mainspring.asked("activate", "Kept", answers=["y"]).code == 0
    # Going back to what may do less needs nobody, going forward again does.
    assert mainspring("rollback", "Kept", "1", "--json").json["state"] == "active"
    assert mainspring("rollback", "Kept", "2", "--json").json["state"] == "paused"


def test_a_person_at_a_terminal_sees_all_of_a_text_that_is_sent_without_approval(
    server: Started, write: Write
) -> None:
    mainspring, end = server.mainspring, "the-very-end"
    text = "word " * 1_000 + end
    post = {**step("post", "slack_post", channel="#ops", text=text), "approval": "automatic"}
    file = write(definition("Long", [post]))
    assert mainspring("save", file, "--json").json["consent"] is not None
    asked = (
        mainspring.asked("consents", "show", "Long", answers=[]),
        mainspring.asked("consents", "agree", "Long", answers=["n"]),
        mainspring.asked("save", file, answers=["n"]),
    )
    for shown in asked:
        assert text in " ".join(shown.out.split()), shown.output[-400:]


def test_a_person_is_asked_about_what_they_import_and_a_file_runs_without_a_question(
    server: Started, write: Write
) -> None:
    mainspring = server.mainspring
    file = write(definition("Brought", [ANSWER], triggers=[DAILY]))
    brought = mainspring.asked("import", file, answers=["y"])
    assert (brought.code, "- It starts once a day." in brought.out) == (0, True), brought.output
    assert mainspring("activate", "Brought", "--json").json["state"] == "active"
    # The local owner runs a file of theirs, at a terminal or from a script.
    assert mainspring("run", write(definition("A file", [ANSWER])), "--json").code == 0


def test_a_token_that_approves_is_made_at_a_terminal_and_agrees_by_the_digest(
    server: Started, write: Write
) -> None:
    mainspring = server.mainspring
    consent = _import(mainspring, write, "Deployed")
    other = _import(mainspring, write, "Other")
    make = ("tokens", "create", "deploys", "--approve", "Deployed")
    _refused(mainspring(*make, "--days", "3", "--json"), "person_needed")
    endless = mainspring.asked(*make, answers=[])
    assert (endless.code, "/expires_at" in endless.out) == (2, True), endless.output
    assert "No token was created" in mainspring.asked(*make, "--days", "3", answers=["n"]).out
    made = mainspring.asked(*make, "--days", "3", answers=["y"])
    assert (made.code, "agrees without a person" in made.out) == (0, True), made.output
    (token,) = re.findall(r"msk_[A-Za-z0-9_-]{43}", made.out)
    listed = mainspring("tokens", "list")
    assert "APPROVE (1 automation)" in listed.out

    def agree(name: str, digest: str) -> Ended:
        words = ("consents", "agree", name, "--digest", digest, "--activate", "--json")
        return mainspring(*words, settings={"token": token})

    _refused(agree("Other", other["digest"]), "person_needed")
    assert agree("Deployed", consent["digest"]).json["state"] == "active"
    entries = mainspring("audit", "--action", "answer_consent", "--json").json["entries"]
    assert entries[0]["detail"]["approve_token"] is True


def test_a_person_signs_in_at_a_terminal_and_agrees_at_a_server(
    server: Started, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mainspring = server.mainspring
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    consent = _import(mainspring, write, "Remote")
    at = ("--server", server.address)
    _refused(mainspring(*at, "consents", "--json"), "no_login")
    _refused(mainspring("login", server.address, "--json"), "person_needed")

    said = _signed_in(server)
    assert "You are signed in" in said
    (kept,) = (tmp_path / "mainspring" / "logins").iterdir()
    assert stat.S_IMODE(os.stat(kept).st_mode) == 0o600
    assert kept.read_text().split()[0] not in said

    listed = mainspring(*at, "consents", "--json").json["consents"]
    assert consent["consent_id"] in [one["consent_id"] for one in listed]
    agree = (*at, "consents", "agree", "Remote", "--activate")
    # Under a session, --json and a pipe are programs all the same.
    _refused(mainspring(*agree, "--digest", consent["digest"], "--json"), "person_needed")
    assert mainspring(*agree, stdin=b"y\n").code == 1
    assert "Not agreed." in mainspring.asked(*agree, answers=["n"]).out
    agreed = mainspring.asked(*agree, answers=["y"])
    assert (agreed.code, "Approved and active" in agreed.out) == (0, True), agreed.output
    assert _state(mainspring, "Remote") == "active"
    # What works on a data folder says so.
    assert mainspring(*at, "email", "show", "--json").code == 2
    listed = mainspring(*at, "list", "--json")
    assert (listed.code, '"Remote"' in listed.out) == (0, True), listed.output

    # The session is bound to its server: shown to no other address.
    other = mainspring("--server", "http://localhost:1", "consents", "--json")
    _refused(other, "no_login")
    kept.chmod(0o644)
    assert mainspring(*at, "consents", "--json").json["code"] == "login_file"
    kept.chmod(0o600)
    assert mainspring("logout", server.address).code == 0
    assert not kept.exists()
    _refused(mainspring(*at, "consents", "--json"), "no_login")


def _signed_in(server: Started) -> str:
    """``mainspring login``, and a person who confirms its code in their browser."""
    link = server.mainspring("sign-in", "--json").json["link"].partition("#")[2]
    with httpx2.Client(base_url=server.address + PREFIX, timeout=PATIENCE) as page:
        who = page.post("/session/link", json={"token": link}).json()
        code = ""
        with server.mainspring.started("login", server.address) as process:
            assert process.stdout is not None
            told = []
            for line in process.stdout:
                told.append(line)
                found = CODE.search(line)
                if found is not None:
                    code = found[1]
                    answer = page.post(
                        "/session/terminal/answer",
                        json={"code": code, "confirm": True},
                        headers={"X-CSRF-Token": who["csrf_token"]},
                    )
                    assert answer.status_code == 200, answer.text
            process.wait(PATIENCE)
    assert code
    return "".join(told)
