"""An installation that outgrows its machine, on four machines.

    python -m tests.machines [--runs 300] [--step-ms 300] [--lease 10]

It begins as everybody does: one machine, one command, the database inside. Then it moves to a
Postgres and a Redis elsewhere with one command, a second machine takes work, and that machine
is lost in the middle of it. Judged from outside: by the ledger that steps call, by the rows, and
by what the commands print. The last line ends in PASSED or FAILED. Needs root.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kit.postgres import open_folder
from tests.kit.processes import wait_until
from tests.machines.network import Machine, street
from tests.machines.services import (
    LEDGER_PORT,
    WORD,
    ask_sql,
    read_ledger,
    start_ledger,
    start_postgres,
    start_redis,
)

STEPS = 5
_MAINSPRING = (sys.executable, "-m", "mainspring")
_PATIENCE = 180.0


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def plan(ledger: str) -> dict[str, Any]:
    """Each step calls the ledger under the name of its run and its own."""
    host = ledger.removeprefix("http://").partition(":")[0]
    return {
        "schema_version": "1.2",
        "name": "told",
        "goal": "Tell the ledger of every step.",
        "plan": [
            {
                "step_id": f"step_{number}",
                "action": "http_fetch",
                "config": {
                    "url": ledger + "/{{ run.id }}/step_" + str(number),
                    # Every process that runs it must be able to open the vault.
                    "headers": {"Authorization": "Bearer {{ secrets.ledger }}"},
                },
            }
            for number in range(STEPS)
        ],
        "grants": [{"capability": "http_fetch", "params": {"hosts": [host]}}],
        # One after the other, the machine that has just ended one would take the next.
        "execution": {"concurrency": "allow_parallel"},
    }


@dataclass(slots=True)
class Story:
    """The machines, and what was accepted so far."""

    first: Machine
    second: Machine
    keepers: Machine
    ledger: Path
    accepted: list[str]
    address: str
    url: str = ""

    def run_command(self, *text: str) -> str:
        return self.first.ask([*_MAINSPRING, *text])

    def up(self) -> Any:
        """The whole server on the first machine."""
        log = (self.first.home.parent / "first.log").open("a")
        server = self.first.start([*_MAINSPRING, "up"], log)
        ready = ["curl", "-sf", f"{self.address}/api/v1/health/ready"]
        wait_until(lambda: _quietly(self.first, ready), _PATIENCE, "the server is up")
        return server

    def call(self, automation: str, count: int) -> None:
        words = [str(self.first.home), self.address, automation, str(count)]
        output = self.first.ask(
            [sys.executable, "-m", "tests.machines.api_client", *words], seconds=_PATIENCE
        )
        self.accepted += output.split()

    def left(self) -> int:
        """Runs that have not ended, by the database of the keepers."""
        rows = ask_sql(
            self.keepers, self.url, "SELECT count(*) FROM runs WHERE finished_at IS NULL"
        )
        return int(str(rows[0][0]))


def _quietly(machine: Machine, words: list[str]) -> bool:
    try:
        machine.ask(words)
    except AssertionError:
        return False
    return True


def tell(story: Story, runs: int) -> list[str]:
    """The chapters in turn; answers what was broken."""
    say("1. One machine, one command: mainspring up, with the database inside.")
    server = story.up()
    story.first.ask([*_MAINSPRING, "secrets", "set", "ledger"], given=WORD)
    definition = story.first.home.parent / "told.json"
    definition.write_text(json.dumps(plan(f"http://{story.keepers.address}:{LEDGER_PORT}")))
    saved = json.loads(story.run_command("save", str(definition), "--json"))
    automation = str(saved["id"])
    story.call(automation, 20)
    assert story.first.stop(server) == 0
    say(f"   20 runs accepted; stopped in order with {_ended(story)} calls in the ledger.")

    say("2. mainspring move --database-url … --broker-url …")
    story.url, broker = start_postgres(story.keepers), start_redis(story.keepers)
    output = story.run_command("move", "--database-url", story.url, "--broker-url", broker)
    for line in output.strip().splitlines():
        notified = line.replace(str(story.first.home.parent), "…")
        say("   | " + re.sub(r"//\S+@", "//…@", notified))

    say("3. mainspring up again, and a worker on a second machine.")
    server = story.up()
    _hire_second(story, broker)
    wait_until(lambda: _hosts(story) == 2, _PATIENCE, "two machines have workers")
    say(f"   the workers live on {_hosts(story)} machines")

    say(f"4. {runs} runs, and the second machine is lost in the middle of them.")
    story.call(automation, runs // 2)
    wait_until(lambda: _in_flight_on_second(story) > 0, _PATIENCE, "the second machine works")
    story.second.lose()
    lost, caught = time.monotonic(), _in_flight_on_second(story)
    story.call(automation, runs - runs // 2)
    wait_until(lambda: story.left() == 0, _PATIENCE, "every run has ended")
    say(f"   lost with {caught} runs in hand; all had ended {time.monotonic() - lost:.0f} s later")
    found = offences(story, caught)
    assert story.first.stop(server) == 0
    return found


def _ended(story: Story) -> int:
    return sum(read_ledger(story.ledger).values())


def _hire_second(story: Story, broker: str) -> None:
    """What the how-to says: the same database, the same broker, the same master key."""
    key = story.second.home / "master.key"
    shutil.copy(story.first.home / "master.key", key)
    key.chmod(0o600)
    story.second.settings |= {
        "MAINSPRING_DATABASE_URL": story.url,
        "MAINSPRING_TRANSPORT": "celery",
        "MAINSPRING_BROKER_URL": broker,
    }
    log = (story.first.home.parent / "second.log").open("w")
    story.second.start([*_MAINSPRING, "worker"], log)


def _hosts(story: Story) -> int:
    rows = ask_sql(
        story.keepers, story.url, "SELECT count(*) FROM workers WHERE lease_until > now()"
    )
    return int(str(rows[0][0]))


_SECOND = """
    SELECT count(*) FROM runs r JOIN workers w ON w.id = r.worker
    WHERE r.status = 'running' AND w.id = (SELECT max(id) FROM workers)
"""


def _in_flight_on_second(story: Story) -> int:
    return int(str(ask_sql(story.keepers, story.url, _SECOND)[0][0]))


def offences(story: Story, caught: int) -> list[str]:
    """Every promise that was broken, as a sentence."""
    rows = ask_sql(
        story.keepers,
        story.url,
        "SELECT r.id, r.status, count(s.*) FROM runs r LEFT JOIN steps s ON s.run_id = r.id "
        "AND s.status = 'succeeded' GROUP BY r.id, r.status",
    )
    known = {str(run): (str(status), int(str(steps))) for run, status, steps in rows}
    ledger = read_ledger(story.ledger)
    found = [f"run {run} was accepted and is lost" for run in story.accepted if run not in known]
    found += [f"run {run} was never accepted" for run in known.keys() - set(story.accepted)]
    found += [
        f"run {run} is {status} with {steps} steps"
        for run, (status, steps) in known.items()
        if (status, steps) != ("succeeded", STEPS)
    ]
    called = {f"/{run}/step_{number}" for run in known for number in range(STEPS)}
    found += [f"{key} never reached the ledger" for key in called - ledger.keys()]
    again = sum(count - 1 for count in ledger.values())
    if again > caught:
        found.append(f"{again} steps were called again, and only {caught} were in hand")
    say(f"   {len(known)} runs, {len(called)} steps, {again} called again with the same key")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--step-ms", type=int, default=300)
    parser.add_argument("--lease", type=float, default=10.0)
    asked = parser.parse_args()
    with open_folder() as folder:
        settings = {
            "MAINSPRING_LEASE_SECONDS": str(asked.lease),
            "MAINSPRING_HEARTBEAT_SECONDS": str(asked.lease / 3),
            "MAINSPRING_SLOTS": "16",
            "MAINSPRING_EGRESS_ALLOW": f"10.77.0.3:{LEDGER_PORT}",
        }
        with street(folder, ["first", "second", "keepers"], settings) as (first, second, keepers):
            ledger = start_ledger(keepers, asked.step_ms)
            story = Story(first, second, keepers, ledger, [], "http://127.0.0.1:8420")
            found = tell(story, asked.runs)
    for offence in found[:20]:
        say(offence)
    verdict = "FAILED" if found else "PASSED"
    say(f"machines: {len(story.accepted)} runs accepted, {len(found)} offences: {verdict}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
