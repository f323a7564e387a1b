"""The table of the checks, in the order of their numbers."""

from __future__ import annotations

from typing import Final

from tests.chaos.check import Check

CHECKS: Final[tuple[Check, ...]] = (
    Check(
        "R1",
        "One of three workers is killed at a random instant, again and again, under five-step "
        "runs that write to an outside ledger.",
        "20 kills, 200 runs, lease 2 s",
        "200 kills, 2,000 runs, lease 30 s",
        "chaos.worker_failures.killed_workers",
        check="12 kills, 120 runs, lease 2 s",
    ),
    Check(
        "R2",
        "The API and the scheduler are killed while webhooks are sent by senders that try "
        "again with the same key.",
        "6 kills, 300 webhooks",
        "100 kills, 5,000 webhooks",
        "chaos.outages.killed_api",
        check="4 kills, 200 webhooks",
    ),
    Check(
        "R3",
        "Postgres is killed and shut down at once, in turn, under three workers, and stays "
        "away for up to two seconds.",
        "5 times in about a minute, 300 runs",
        "27 times in about ten minutes, 3,000 runs",
        "chaos.outages.restarted_postgres",
        check="4 times, 200 runs",
    ),
    Check(
        "R4",
        "A worker is stopped until its lease has ended and others own its runs, and then woken.",
        "6 times, lease 2 s",
        "50 times for lease + 15 s, lease 5 s",
        "chaos.worker_failures.frozen_workers",
        check="4 times, lease 2 s",
    ),
    Check(
        "R5",
        "Three schedulers and four workers serve schedules that are all due in the same "
        "minute, first undisturbed, then with a scheduler killed in each minute. How late runs "
        "start is counted from the second minute on, when every process is there.",
        "100 schedules, 4 minutes, 20 times faster",
        "300 schedules, 10 minutes, 20 times faster",
        "chaos.schedules.many_schedulers",
        check="50 schedules, 3 minutes, 20 times faster",
    ),
    Check(
        "R6",
        "Cron expressions are compared with two other libraries and, around clock changes, "
        "with an oracle that looks at every minute.",
        "3,000 rows",
        "40,000 rows",
        "chaos.schedules.cron",
        check="1,500 rows",
    ),
    Check(
        "R7",
        "Schedules live through 26 months of simulated time in zones with every kind of clock "
        "change, and through clocks that are set back and forward.",
        "4 zones",
        "10 zones",
        "chaos.schedules.clocks",
    ),
    Check(
        "R8",
        "Nobody looks at a schedule of every five minutes for six hours, under each policy "
        "and with two windows.",
        "6 cases",
        "6 cases",
        "chaos.schedules.silence",
    ),
    Check(
        "R9",
        "An automation is fired again and again while it runs, and the worker that has its "
        "run is killed in the middle, under each of the three policies. The next fire may be "
        "blocked for the lease, and half of it more for the look that finds it over.",
        "120 fires per policy, lease 4 s",
        "500 fires per policy, lease 4 s",
        "chaos.worker_failures.lanes",
        check="60 fires per policy, lease 4 s",
    ),
    Check(
        "R10",
        "A run that kills its worker, one that hangs and two that cannot be read stand among "
        "good ones; the same good ones were run without them just before.",
        "200 good runs, lease 2 s",
        "200 good runs of longer steps, lease 30 s",
        "chaos.worker_failures.poisoned",
        check="100 good runs, lease 2 s",
    ),
    Check(
        "R11",
        "Steps fail some times and then succeed, ask for a pause, fail for good, or cannot be "
        "begun. No pause may be too short; a busy machine may come a second too late.",
        "30 runs",
        "126 runs",
        "chaos.retries.retries",
    ),
    Check(
        "R12",
        "Automations start each other in a ring, start themselves, and fan out ten by ten by "
        "ten, beside another tenant.",
        "other tenant alone for 8 s",
        "other tenant alone for 30 s",
        "chaos.event_chains.loops",
        check="other tenant alone for 5 s",
    ),
    Check(
        "R13",
        "Scheduled runs fail by chance while schedulers and workers are killed; each covers "
        "the time since the last success.",
        "10 kills, 10 schedules",
        "100 kills, 20 schedules",
        "chaos.schedules.windows",
        check="7 kills, 10 schedules",
    ),
    Check(
        "R14",
        "Matchers are killed while events are told to many triggers.",
        "1,000 events, 200 triggers, 8 kills",
        "10,000 events, 1,000 triggers, 20 kills",
        "chaos.event_chains.matched",
        check="500 events, 100 triggers, 5 kills",
    ),
    Check(
        "R15",
        "A worker with ten short and ten long steps in flight gets SIGTERM.",
        "steps get 3 s",
        "steps get 30 s",
        "chaos.worker_failures.stopped",
        check="steps get 6 s",
    ),
    Check(
        "R16",
        "A transaction is held open while jobs go through the queue.",
        "10,000 jobs in 60 s",
        "200,000 jobs in 10 minutes",
        "chaos.outages.long_transaction",
        check="3,000 jobs in 20 s",
    ),
    Check(
        "R17",
        "An automation is edited while it is fired, and loses grants, is archived and is "
        "paused while it runs. A call after the pause is kept as skipped, and nothing is done.",
        "60 edits and fires",
        "200 edits and fires",
        "chaos.changes.changed",
        check="40 edits and fires",
    ),
    Check(
        "R18",
        "Tables with runs in each state go back to what an older program knows and are upgraded "
        "again, and workers go on.",
        "25 runs in each of five states",
        "100 runs in each of five states",
        "chaos.migrations.upgraded",
        check="15 runs in each of five states",
    ),
    Check(
        "R19",
        "A backup is taken while schedules fire and runs are under way, and restored elsewhere.",
        "3 minutes of 20 schedules, 20 times faster",
        "10 minutes of 100 schedules, 20 times faster",
        "chaos.migrations.backed_up",
        check="2 minutes of 20 schedules, 20 times faster",
    ),
    Check(
        "R20",
        "The scheduler of a whole server is stopped, so that a moment passes unserved, and "
        "woken again.",
        "once",
        "three times",
        "chaos.watchdog.watchdog",
    ),
    Check(
        "W4",
        "A webhook is flooded with 1,000 calls a second for 10 s while another tenant's is "
        "called 5 times a second.",
        "three times, each after 10 s without a flood",
        "nine times, each after 10 s without a flood",
        "chaos.noisy_tenants.flood",
        check="once, after 10 s without a flood; at most 20 calls wait for an answer",
    ),
    Check(
        "S6",
        "Scripts use up all they can get, one after the other, beside an honest one.",
        "10 scripts",
        "every script of the battery",
        "chaos.noisy_tenants.resources",
    ),
)
