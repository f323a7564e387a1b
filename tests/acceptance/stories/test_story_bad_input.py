"""Bad input over HTTP: a clear problem each time, and everything that was kept is still there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx2
import pytest

from tests.acceptance.commands import step
from tests.acceptance.server import Json, Started, definition, outputs, problem, trigger

NOBODY = "00000000-0000-7000-8000-000000000000"
TEN_MB = 10_000_000
# A moment that is not one any more once it is written in UTC.
FAR = "9999-12-31T23:59:59-14:00"
JSON = {"Content-Type": "application/json"}

BODIES: Mapping[str, tuple[bytes, int, str]] = {
    "cut off": (b'{"a":', 422, "json_syntax"),
    "not JSON": (b"{'a': 1}", 422, "json_syntax"),
    "two values": (b"{} {}", 422, "json_trailing"),
    "ten megabytes": (b'"' + b"x" * TEN_MB + b'"', 413, "body_too_large"),
    "a key twice": (b'{"name":"a","name":"b"}', 422, "json_duplicate_key"),
    "no number": (b'{"n":NaN}', 422, "json_constant"),
    "no end": (b'{"n":-Infinity}', 422, "json_constant"),
    "a number too large": (b'{"n":1e999}', 422, "json_overflow"),
    "too many digits": (b'{"n":' + b"9" * 5_000 + b"}", 422, "json_digits"),
    "too deep": (b"[" * 100_000 + b"]" * 100_000, 422, "json_depth"),
    "too deep objects": (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, 422, "json_depth"),
    "half a character": (b'{"name":"\\ud800"}', 422, "json_surrogate"),
    "a NUL": (b'{"name":"\\u0000"}', 422, "json_nul"),
    "not UTF-8": (b'{"name":"\xff"}', 422, "json_encoding"),
}

NORMALIZED = {"json_duplicate_key", "json_overflow", "json_surrogate", "json_nul"}

TEMPLATES: Mapping[str, tuple[str, str]] = {
    "a loop of loops": (
        "{% for a in range(99999999) %}{% for b in range(99999999) %}x{% endfor %}{% endfor %}",
        "template_unsupported",
    ),
    "too many brackets": ("{{ " + "(" * 3_000 + "1" + ")" * 3_000 + " }}", "template_too_complex"),
    "too long": ("{{ 1 }}" * 3_000, "template_too_long"),
    "out of the cage": ("{{ ''.__class__.__mro__ }}", "template_name"),
    "without an end": ("{{ 1", "template_syntax"),
}

REGEX = "/triggers/0/config/filters/name/regex"


@pytest.fixture(scope="module")
def kept(server: Started) -> str:
    """An automation with a history that nothing may harm."""
    document = definition(
        "Kept",
        [step("say", "transform_data", output=1)],
        [
            trigger("hook", "webhook"),
            trigger("daily", "schedule", cron="0 9 * * *", timezone="UTC"),
        ],
    )
    made = server.save(document)
    server.owner.put(f"/automations/{made}", json={**document, "goal": "Another goal."})
    server.ended(server.run(made))
    server.post("/events", {"type": "orders.kept", "payload": {"n": 1}}, 202)
    return made


@contextlib.contextmanager
def unharmed(server: Started) -> Iterator[None]:
    """Whatever happens inside changes nothing that is kept."""
    before = everything(server)
    yield
    assert everything(server) == before


def everything(server: Started) -> Json:
    automations = server.items("/automations")
    return {
        "automations": automations,
        "export": server.get("/export"),
        "versions": [server.items(f"/automations/{one['id']}/versions") for one in automations],
        "triggers": [server.get(f"/automations/{one['id']}/triggers") for one in automations],
        "runs": server.items("/runs"),
        "events": [event["id"] for event in server.items("/events")],
        "inbox": server.items("/inbox"),
        "artifacts": server.items("/artifacts"),
    }


def verdict(answer: httpx2.Response) -> tuple[int, str]:
    assert 400 <= answer.status_code < 500, answer.text
    return answer.status_code, str(problem(answer, answer.status_code)["code"])


def test_a_body_that_cannot_be_read_is_refused_at_every_entry_point(
    server: Started, kept: str
) -> None:
    token = server.token(kept, "hook")
    owner = str(server.program.headers["Authorization"])
    doors = {
        "/automations": owner,
        f"/automations/{kept}/run": owner,
        f"/automations/{kept}/fire": f"Bearer {token}",
        "/validate": owner,
        "/events": owner,
        "/filters/test": owner,
    }
    expected = {
        (entry_point, what): (case[1], case[2])
        for entry_point in doors
        for what, case in BODIES.items()
        # A webhook normalizes what real senders send.
        if not (entry_point.endswith("/fire") and case[2] in NORMALIZED)
    }

    with unharmed(server):
        answers = {
            (entry_point, what): server.anonymous.post(
                entry_point,
                content=BODIES[what][0],
                headers={**JSON, "Authorization": doors[entry_point]},
            )
            for entry_point, what in expected
        }

    assert {at: verdict(answer) for at, answer in answers.items()} == expected
    for answer in answers.values():
        assert answer.status_code == 413 or "pointer" in answer.json()["errors"][0]


def test_a_body_of_another_kind_or_of_unknown_length_is_refused(server: Started, kept: str) -> None:
    def sent(body: Any = b"{}", **headers: str) -> tuple[int, str]:
        shown = {name.replace("_", "-"): value for name, value in headers.items()}
        return verdict(server.owner.post("/automations", content=body, headers=shown))

    with unharmed(server):
        assert sent(content_type="text/plain") == (415, "content_type")
        assert sent(content_type="application/x-www-form-urlencoded") == (415, "content_type")
        assert sent(content_type="application/json; charset=latin-1") == (415, "content_type")
        assert sent() == (415, "content_type")
        assert sent(**JSON, content_encoding="gzip") == (415, "content_encoding")
        chunks = (b"x" * 100_000 for _ in range(TEN_MB // 100_000))
        assert sent(chunks, **JSON) == (413, "body_too_large")


def test_what_is_not_there_is_said(server: Started, kept: str) -> None:
    owner, own = server.owner, f"/automations/{kept}"
    missing = [
        *(
            owner.get(path)
            for path in (
                f"/automations/{NOBODY}",
                f"/runs/{NOBODY}",
                f"/runs/{NOBODY}/stream",
                f"/events/{NOBODY}",
                f"/artifacts/{NOBODY}",
                f"{own}/versions/9",
                f"{own}/triggers/none",
                f"{own}/diff?from=1&to=9",
                "/nothing",
            )
        ),
        *(
            owner.post(path, json={})
            for path in (
                f"/automations/{NOBODY}/run",
                f"/automations/{NOBODY}/activate",
                f"/runs/{NOBODY}/cancel",
                f"/runs/{NOBODY}/retry",
                f"/runs/{NOBODY}/replay",
                f"/inbox/{NOBODY}/read",
                f"{own}/triggers/none/token",
            )
        ),
    ]
    assert all(problem(answer, 404)["code"] for answer in missing)


def test_what_a_request_may_not_say_is_named_with_its_place(server: Started, kept: str) -> None:
    owner, own = server.owner, f"/automations/{kept}"
    unknown: dict[str, Callable[[], httpx2.Response]] = {
        "/path/run_id": lambda: owner.get("/runs/7"),
        "/path/version": lambda: owner.get(f"{own}/versions/99999999999999"),
        "/query/serch": lambda: owner.get("/automations?serch=x"),
        "/query/limit": lambda: owner.get("/runs?limit=0"),
        "/query/cursor": lambda: owner.get("/runs?cursor=zz"),
        "/query": lambda: owner.get("/automations?search=%00"),
        "/query/since": lambda: owner.get("/events?since=yesterday"),
        "/header/Last-Event-ID": lambda: owner.get("/stream", headers={"Last-Event-ID": FAR}),
        "/header/if-match": lambda: owner.put(own, json={}, headers={"If-Match": "3"}),
        "/input": lambda: owner.post(f"{own}/run", json={"input": {}}),
        "/enabled": lambda: owner.patch(f"{own}/triggers/hook", json={"enabled": "no"}),
        "/cron": lambda: owner.patch(
            f"{own}/triggers/daily", json={"enabled": True, "cron": "* * * * *"}
        ),
        "/version": lambda: owner.post(f"{own}/rollback", json={"version": True}),
        "/type": lambda: owner.post("/events", json={"type": "automation.run.failed"}),
        "/payload": lambda: owner.post("/events", json={"type": "a.b", "payload": [1]}),
    }

    with unharmed(server):
        for pointer, ask in unknown.items():
            assert [one["pointer"] for one in problem(ask(), 422)["errors"]] == [pointer]
        assert server.get("/events", since=FAR)["items"] == []


def test_a_definition_that_could_do_harm_is_refused_where_it_would(
    server: Started, kept: str
) -> None:
    say = [step("say", "transform_data", output=1)]

    def when(kind: str, **config: Any) -> Json:
        return definition("Harmful", say, [trigger("t", kind, **config)])

    def matching(pattern: str) -> Json:
        return when("event", event_type="a.b", filters={"name": {"regex": pattern}})

    pattern = {"type": "string", "pattern": "(a*)*\\1"}
    schema = {"schema": {"type": "object", "properties": {"a": pattern}}}
    cases: list[tuple[Json, str, str]] = [
        (
            when("schedule", cron="0 0 30 2 *", timezone="UTC"),
            "/triggers/0/config/cron",
            "cron_never",
        ),
        (
            when("schedule", cron="* * * * * *", timezone="UTC"),
            "/triggers/0/config/cron",
            "cron_fields",
        ),
        (
            when("schedule", cron="* * * * *", timezone="Mars/Base"),
            "/triggers/0/config/timezone",
            "format",
        ),
        (matching("(a+)+\\1$"), REGEX, "filter_pattern"),
        (matching("((x{1000}){1000}){1000}"), REGEX, "filter_pattern"),
        (
            definition("Harmful", say, inputs=schema),
            "/inputs/schema/properties/a/pattern",
            "schema_pattern",
        ),
        (definition("Harmful", say, colour="red"), "/colour", "additional_properties"),
        *(
            (
                definition("Harmful", [step("say", "transform_data", output=text)]),
                "/plan/0/config/output",
                code,
            )
            for text, code in TEMPLATES.values()
        ),
    ]

    with unharmed(server):
        for document, pointer, code in cases:
            for answer in (
                server.owner.post("/automations", json=document),
                server.owner.put(f"/automations/{kept}", json=document),
                server.owner.post("/import", json=document),
            ):
                found = problem(answer, 422)["errors"]
                assert [(one["pointer"], one["code"]) for one in found] == [(pointer, code)]
        half = {
            "format": "mainspring.export",
            "version": 1,
            "automations": [definition("Good", say), definition("", say)],
        }
        (finding,) = problem(server.owner.post("/import", json=half), 422)["errors"]
        assert finding["pointer"] == "/automations/1/name"


def test_a_bomb_that_shows_itself_only_in_a_run_harms_that_run_alone(
    server: Started, kept: str
) -> None:
    bombs = {
        "{{ 'x' * 10000000000 }}": "template_too_large",
        "{{ 9 ** 9 ** 9 ** 9 }}": "template_value",
    }
    for number, (text, code) in enumerate(bombs.items()):
        made = server.save(
            definition(f"Bomb {number}", [step("say", "transform_data", output=text)])
        )
        run = server.ended(server.run(made))
        assert (run["status"], run["error"]["code"]) == ("failed", code)

    assert server.ended(server.run(kept))["status"] == "succeeded"


def test_a_pattern_made_to_take_for_ever_does_not_hold_up_the_events_behind_it(
    server: Started,
) -> None:
    filters = {"name": {"regex": "^(a+)+$"}}
    listening = trigger("t", "event", event_type="names.told", filters=filters)
    output = step("say", "transform_data", output="{{ trigger.name | length }}")
    made = server.save(definition("Hostile pattern", [output], [listening]))

    for name in ("a" * 50_000 + "!", "a" * 50):
        server.post("/events", {"type": "names.told", "payload": {"name": name}}, 202)

    (run,) = server.first_runs(made)
    assert outputs(run) == {"say": 50}
