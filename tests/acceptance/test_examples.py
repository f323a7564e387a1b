"""Every example does what its row in the table of examples says."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.commands import EXAMPLES, Ended, Mainspring

# Each needs a model, and the last a server of tools that is connected as files.
WITH_A_MODEL = {"ci_webhook.json", "digest.json", "weekly_report.json", "file_added.json"}
ALONE = {
    "allow_parallel.json",
    "delay.json",
    "drop_if_running.json",
    "first.json",
    "for_each.json",
    "inputs_and_tokens.json",
    "kv_dedupe.json",
    "queue_with_key.json",
    "retry_and_on_failure.json",
}
HELD = {"email_report.json": "send_email", "slack_message.json": "slack_post"}
WITH_SOMEBODY_OUTSIDE = {"http_fetch.json", "callback_webhook.json", "secrets_in_headers.json"}


def test_every_example_is_judged_run_and_explained() -> None:
    files = {path.name for path in EXAMPLES.glob("*.json")}
    result = set(re.findall(r"\]\((\w+\.json)\)", (EXAMPLES / "README.md").read_text()))

    assert files == ALONE | HELD.keys() | WITH_SOMEBODY_OUTSIDE | WITH_A_MODEL
    assert result == files


def test_every_example_is_valid(untouched: Mainspring) -> None:
    ended = untouched("validate", *sorted(EXAMPLES.glob("*.json")), "--json")

    validated = {Path(file["file"]).name: file for file in ended.json["files"]}
    assert ended.code == 0, ended.output
    assert len(validated) == len(list(EXAMPLES.glob("*.json")))
    for name, file in validated.items():
        assert file["errors"] == [], name
        # What somebody outside must bring is all that may be doubted.
        doubts = {found["code"] for found in file["warnings"]}
        assert doubts <= {"unknown_event_type", "tool_unchecked"}, name


# --- those that need nobody


def _ran(mainspring: Mainspring, name: str, *text: str, allowed: str = "") -> Ended:
    settings = {"egress_allow": allowed}
    ended = mainspring("run", EXAMPLES / name, "--json", *text, settings=settings)
    assert ended.complaints == ""
    return ended


def test_the_first_example_counts_its_runs_and_leaves_a_message(mainspring: Mainspring) -> None:
    for times in ("1 time.", "2 times."):
        ended = _ran(mainspring, "first.json", "--input", "name=Ada")

        assert ended.code == 0, ended.output
        assert ended.json["output"]["text"] == f"Hello Ada. You have run this {times}"
        assert ended.json["outcome"] == "effects"
    newest = mainspring("inbox", "--limit", "1", "--json").json["notifications"][0]
    assert newest["title"] == "The clocks are wound"
    assert "The tower clock took 21 turns." in newest["message"]


def test_a_delay_waits_and_a_moment_that_has_passed_does_not(mainspring: Mainspring) -> None:
    run = _ran(mainspring, "delay.json", "--input", "seconds=1").json

    assert run["status"] == "succeeded"
    assert run["output"].startswith("Slept until")


def test_one_item_that_fails_leaves_the_others_alone(mainspring: Mainspring) -> None:
    run = _ran(mainspring, "for_each.json").json

    assert run["output"]["tables"] == 3
    assert run["output"]["failed"] == 1
    assert run["output"]["first_table"][0] == {"plate": "Ada: 4 pieces"}
    failed = [(row["step"], row["item"]) for row in run["steps"] if row["status"] == "failed"]
    assert failed == [("share", "1")]


def test_what_was_said_once_is_not_said_again(mainspring: Mainspring) -> None:
    first, second, other = (
        _ran(mainspring, "kv_dedupe.json", "--input", f"order={order}").json["output"]
        for order in ("A-1", "A-1", "B-2")
    )

    assert first == {"new": True, "known": 1}
    assert second == {"new": False, "known": 1}
    assert other == {"new": True, "known": 2}


def test_inputs_are_asked_for_and_defaults_filled_in(mainspring: Mainspring) -> None:
    missing = _ran(mainspring, "inputs_and_tokens.json")
    assert missing.code == 2
    assert "team" in str(missing.json["errors"])

    run = _ran(
        mainspring,
        "inputs_and_tokens.json",
        "--input",
        "team=Größe",
        "--inputs",
        '{"detail": "long"}',
    ).json
    assert re.match(r"GRÖSSE since \d{4}-\d\d-\d\d: at most 10 of weekly", run["output"]["text"])
    assert run["output"]["slug"] == "grosse"
    assert run["output"]["started_by"] == "manual"
    assert "$" not in str(run["inputs"])


@pytest.mark.parametrize(
    "name", ["allow_parallel.json", "drop_if_running.json", "queue_with_key.json"]
)
def test_every_policy_lets_a_single_run_through(mainspring: Mainspring, name: str) -> None:
    ended = _ran(mainspring, name, "--input", "seconds=0.1")

    assert ended.code == 0, ended.output
    policy = json.loads((EXAMPLES / name).read_text())["execution"]["concurrency"]
    assert policy in name


def test_a_failure_is_tried_again_and_then_reported(mainspring: Mainspring) -> None:
    ended = _ran(mainspring, "retry_and_on_failure.json", allowed="127.0.0.1:9")

    assert ended.code == 1, ended.output
    rows = [(row["step"], row["attempt"], row["status"]) for row in ended.json["steps"]]
    assert rows == [
        ("prepare", 1, "succeeded"),
        ("fetch", 1, "retrying"),
        ("fetch", 2, "retrying"),
        ("fetch", 3, "failed"),
        ("apologise", 1, "succeeded"),
    ]
    refused = _ran(mainspring, "retry_and_on_failure.json")
    assert refused.code == 4
    assert refused.json["outcome"] == "blocked"


@pytest.mark.parametrize("name", sorted(HELD))
def test_outside_writes_are_held_for_a_person(mainspring: Mainspring, name: str) -> None:
    ended = _ran(mainspring, name)

    assert ended.code == 0, ended.output
    assert ended.json["outcome"] == "drafts_waiting"
    draft = ended.json["output"]
    assert draft["kind"] == "draft"
    assert draft["preview"].startswith(
        (
            "Send to ada@example.com, grace@example.com “Sales of the week: up to 143",
            "Post to C0123",
        )
    )


# --- those that call somebody outside: a double on loopback answers


class _Double(ThreadingHTTPServer):
    """Answers every request and remembers it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Double

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): text for name, text in self.headers.items()}
        self.server.seen.append((self.command, self.path, headers, body))
        answer = b'{"plan": "free"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = _answer  # noqa: N815  (the names that the server looks for)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Silent."""


@contextmanager
def _somebody() -> Iterator[_Double]:
    double = _Double()
    thread = threading.Thread(target=double.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield double
    finally:
        double.shutdown()
        thread.join()
        double.server_close()


def _pointed_at(double: _Double, name: str, folder: Path) -> Path:
    """The example with the double in the place of the host it names."""
    text = (EXAMPLES / name).read_text()
    here = f"127.0.0.1:{double.server_port}"
    changed = re.sub(r"https://[\w.]+/", f"http://{here}/", text)
    changed = changed.replace('"example.com"', f'"{here}"')
    path = folder / name
    path.write_text(changed)
    return path


@pytest.mark.parametrize("name", sorted(WITH_SOMEBODY_OUTSIDE))
def test_an_example_that_calls_somebody_reaches_them(
    mainspring: Mainspring, tmp_path: Path, name: str
) -> None:
    stored = mainspring("secrets", "set", "example_token", stdin=b"s3cr3t-value")
    assert stored.code == 0, stored.output
    with _somebody() as double:
        path = _pointed_at(double, name, tmp_path)
        settings = {"egress_allow": f"127.0.0.1:{double.server_port}"}
        ended = mainspring("run", path, "--json", settings=settings)

    assert ended.code == 0, ended.output
    ((method, _, headers, body),) = double.seen
    if name == "callback_webhook.json":
        assert method == "POST"
        assert ended.json["id"] in headers["idempotency-key"]
        assert json.loads(body) == {"run": ended.json["id"], "largest": 42, "of": 6}
    if name == "secrets_in_headers.json":
        assert headers["authorization"] == "Bearer s3cr3t-value"
        logs = mainspring("logs", "last", "--json").out + mainspring("logs", "last", "--calls").out
        assert "s3cr3t-value" not in logs + ended.out
