"""What the doctor makes of an open database."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.runs.fleet import QueueSignals
from mainspring.runs.health import HealthSignals
from mainspring.runs.metrics import InstallationMetrics
from mainspring.settings import Settings
from mainspring.store.application_name import VERSION
from mainspring.surfaces.cli import database_checks as checks
from mainspring.surfaces.cli.database_checks import DatabaseFacts
from mainspring.surfaces.cli.size import in_bytes, sentences
from mainspring.triggers.storage_size import DiskSpace, StorageReport, TableGroup

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
HOUSE = InstallationMetrics(0, 0, 1, 5, 0, 1.0, 100, 0)
RUNS = TableGroup("runs", 1, 1, NOW - timedelta(days=80), 1_000, 90, None)
SEEN = DatabaseFacts(12, HOUSE, StorageReport(10_000, NOW, (RUNS,), DiskSpace(10**9, 10**8)))


def _days(days: int) -> DatabaseFacts:
    return replace(SEEN, size=replace(SEEN.size, disk=DiskSpace(10**9, days * 1_000)))


def _oldest(days: int) -> DatabaseFacts:
    runs = replace(RUNS, oldest_at=NOW - timedelta(days=days))
    return replace(SEEN, size=replace(SEEN.size, groups=(runs,)))


def test_a_database_that_carries_little_is_well(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)

    verdicts = {
        check.name: check.verdict
        for check in (
            checks.tables(SEEN),
            checks.connections(SEEN, settings),
            checks.transactions(SEEN),
            checks.dead_rows(SEEN),
            checks.housekeeping(SEEN, NOW),
            checks.growth(SEEN),
            checks.workers(SEEN),
        )
    }

    assert set(verdicts.values()) == {"ok"}


def test_mail_that_cannot_leave_or_reaches_no_owner_is_doubtful(tmp_path: Path) -> None:
    here = Settings(home=tmp_path)
    served = replace(here, smtp_url="smtp://mail.example.com:587")
    mailing = replace(SEEN, mailing=["Digest", "Bills"])
    unreached = replace(mailing, unreached=["Bills"])

    assert checks.automation_mail(SEEN, here).verdict == "ok"
    assert checks.automation_mail(mailing, served).verdict == "ok"
    silent = checks.automation_mail(mailing, here)
    assert (silent.verdict, "2 active automations" in silent.detail) == ("doubtful", True)
    assert "Digest, Bills" in silent.detail
    lost = checks.automation_mail(unreached, served)
    assert (lost.verdict, "Bills" in lost.detail) == ("doubtful", True)
    assert "MAINSPRING_OWNER_MAIL" in str(lost.suggestion)
    unproven = checks.automation_mail(replace(mailing, unverified=["Bills"]), served)
    assert (unproven.verdict, "has not verified: Bills" in unproven.detail) == ("doubtful", True)
    assert "email code" in str(unproven.suggestion)


def test_a_part_that_was_not_started_again_after_an_upgrade_is_named() -> None:
    same = checks.versions(replace(SEEN, versions={VERSION: 4}))
    mixed = checks.versions(replace(SEEN, versions={VERSION: 4, "0.0.9": 1, "": 2}))

    assert same.verdict == "ok"
    assert mixed.verdict == "doubtful"
    assert "2 processes of an older version, 1 process of 0.0.9" in mixed.detail
    assert mixed.suggestion


def test_a_missing_scheduler_is_detected_by_what_it_did_not_do() -> None:
    late = replace(
        SEEN, vitals=HealthSignals(overdue_schedules=2, schedule_seconds=92.0, event_seconds=80.0)
    )
    for name, output in (
        ("schedules", "Overdue schedules: 2, the oldest by 92 s"),
        ("events", "for 80 s"),
    ):
        assert checks.on_time(name, SEEN).verdict == "ok"
        found = checks.on_time(name, late)
        assert (found.name, found.verdict) == (name, "doubtful")
        assert output in found.detail
        assert "scheduler" in str(found.suggestion)


def test_what_cannot_go_on_is_doubtful_and_says_what_to_do(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    found = [
        checks.connections(replace(SEEN, house=replace(HOUSE, connections=95)), settings),
        checks.connections(replace(SEEN, machines={"a": 3, "b": 4}), settings),
        checks.transactions(replace(SEEN, house=replace(HOUSE, oldest_transaction_seconds=900.0))),
        checks.dead_rows(replace(SEEN, dead={"runs_2026_11": 400_000})),
        checks.housekeeping(_oldest(93), NOW),
        checks.growth(_days(10)),
        checks.backup(SEEN, settings, NOW),
        checks.workers(
            replace(SEEN, machines={"a": 1}, queues=[QueueSignals("long", 2, 9.0, 0, 0, 0, 0)])
        ),
    ]

    assert [check.verdict for check in found] == ["doubtful"] * len(found)
    assert all(check.suggestion for check in found)
    assert checks.growth(_days(2)).verdict == "wrong"
    assert checks.housekeeping(_oldest(91), NOW).verdict == "ok"
    assert checks.housekeeping(replace(_oldest(200), kept_days=365), NOW).verdict == "ok"


def test_a_backup_counts_for_a_week(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    record = tmp_path / "last_backup.json"
    for age, verdict in ((1, "ok"), (9, "doubtful")):
        made = (NOW - timedelta(days=age)).isoformat()
        record.write_text(json.dumps({"made_at": made, "file": "/backups/one"}))
        assert checks.backup(SEEN, settings, NOW).verdict == verdict
    # One that is young, or whose database others look after, is let be.
    assert checks.backup(_oldest(2), settings, NOW).verdict == "ok"
    outside = replace(settings, database_url="postgresql://elsewhere/one")
    assert checks.backup(SEEN, outside, NOW).verdict == "ok"


@pytest.mark.parametrize(
    ("host", "url", "verdict"),
    [
        ("127.0.0.1", None, "ok"),
        ("0.0.0.0", None, "doubtful"),
        ("0.0.0.0", "http://mainspring.example", "doubtful"),
        ("0.0.0.0", "https://mainspring.example", "ok"),
    ],
)
def test_tokens_over_plain_http_are_doubtful(host: str, url: str | None, verdict: str) -> None:
    assert checks.exposure(Settings(host=host, public_url=url)).verdict == verdict


def test_a_collector_is_named_without_its_password() -> None:
    result = checks.telemetry(Settings(otlp_url="https://me:hunter2@collector.example:4318"))

    assert (result.verdict, "collector.example" in result.detail) == ("ok", True)
    assert "hunter2" not in result.detail
    with pytest.raises(Invalid):
        checks.telemetry(Settings(otlp_url="nonsense"))


def test_sizes_are_said_as_people_say_them() -> None:
    assert [in_bytes(one) for one in (0, 999, 2_048, 10 * 1024**3, 300 * 1024**2)] == [
        "0 B",
        "999 B",
        "2.0 KB",
        "10.0 GB",
        "300 MB",
    ]
    assert (in_bytes(-2_048), in_bytes(2_048, signed=True)) == ("-2.0 KB", "+2.0 KB")
    assert sentences(_days(10).size)[-1].endswith("enough for 10 days.")
