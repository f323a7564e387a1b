"""A steady load for a long time: does anything grow that should not?

python -m bench.soak [--minutes 30] [--rate 20] [--save]

A whole server, as a person has it, is given runs of several kinds: one step and five, one that
fails, one that sleeps, and one that an event starts. Every few seconds the memory of each of its
processes is looked at, its open files and threads, and what its tables hold that is dead; each
minute says a line. The first fifth is for warming up. Of what follows, the median of the first
third is against the median of the last: what lies between is what an hour would add.
Memory is what a process has to itself: pages of files and of the database's shared buffers are
left out, for they are bounded by what they are. The command fails when something rises.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import Any, Final

from bench import results
from bench.server import Server, family, folder, up
from bench.signals import leave_in_order
from bench.webhooks import OPEN, ask, database_of, definition

NAME: Final = "soak"
MINUTES: Final = 30.0
RATE: Final = 20.0
SAMPLE_SECONDS: Final = 10.0
SAID_SECONDS: Final = 60.0
WARMING: Final = 0.2
# Less than this in an hour cannot be distinguished from the allocator's own coming and going.
MOST_MB_PER_HOUR: Final = 12.0
MOST_FILES_PER_HOUR: Final = 20.0
# Nor can less than this at all, however short the time was.
LEAST_MB, LEAST_FILES = 2.0, 4.0
POSTGRES: Final = "Postgres, all of it"
# One kind fails every time, and is not to be paused for it.
UNPAUSED: Final = {**OPEN, "MAINSPRING_LIMIT_FAILURES_IN_ROW": "1000000"}

DEAD = """
    SELECT coalesce(sum(n_dead_tup), 0)::int8 AS dead, coalesce(sum(n_live_tup), 0)::int8 AS live,
        pg_database_size(current_database())::int8 AS bytes
    FROM pg_stat_user_tables
"""
ENDS = "SELECT status, count(*) AS runs FROM runs GROUP BY status ORDER BY status"


@dataclass(slots=True)
class Track:
    """What was seen of one process over time."""

    name: str
    times: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)

    def gain(self, values: Sequence[float]) -> Gain:
        """From the middle of the first third after warming up to that of the last."""
        cold = int(len(values) * WARMING)
        warm, moments = values[cold:], self.times[cold:]
        third = len(warm) // 3
        if not third:
            return Gain(values[0], values[-1], 0.0)
        first, last = statistics.median(warm[:third]), statistics.median(warm[-third:])
        apart = statistics.median(moments[-third:]) - statistics.median(moments[:third])
        return Gain(first, last, (last - first) * 3600 / apart)


@dataclass(frozen=True, slots=True)
class Gain:
    """What was there at first and at last, and what an hour would add."""

    first: float
    last: float
    per_hour: float

    def rises(self, most_per_hour: float, least: float) -> bool:
        return self.per_hour > most_per_hour and self.last - self.first > least


def plans() -> list[dict[str, Any]]:
    """One step, five steps, one that fails, one that sleeps."""
    fails, sleeps = definition(1), definition(1)
    fails |= {"name": "fails", "execution": {"concurrency": "allow_parallel", "max_retries": 0}}
    fails["plan"][0]["config"] = {"output": "{{ trigger.nowhere }}"}
    sleeps |= {"name": "sleeps"}
    wait = {"step_id": "rest", "action": "delay", "config": {"seconds": 2}}
    sleeps["plan"] = [wait, *sleeps["plan"]]
    return [definition(1), definition(5), fails, sleeps]


def listener(name: str) -> dict[str, Any]:
    """Started by the end of every run of another."""
    made = definition(1)
    config = {
        "event_type": "automation.run.succeeded",
        "filters": {"automation_name": {"equals": "sleeps"}},
    }
    trigger = {"id": "after", "type": "event", "config": config}
    made |= {"name": name, "triggers": [trigger]}
    made["plan"][0]["config"] = {"output": {"said": "heard"}}
    return made


def hooks(server: Server) -> Iterator[tuple[str, str]]:
    for plan in plans():
        made = server.call("POST", "/automations", plan)
        path = f"/automations/{made['id']}"
        server.call("POST", f"{path}/activate")
        yield f"/api/v1{path}/fire", server.call("POST", f"{path}/triggers/hook/token")["token"]


def fire(server: Server, hook: tuple[str, str]) -> int:
    path, token = hook
    request = urllib.request.Request(
        server.address + path,
        method="POST",
        data=b'{"say":"hello"}',
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return int(refused.code)
    except OSError:
        # No answer at all; it is counted, and the load goes on.
        return 0


def look(server: Server, tracks: dict[str, Track], moment: float) -> None:
    """One sample of every process that belongs to the server; those of Postgres count as one."""
    found: dict[str, tuple[float, int, int]] = {}
    for pid in family(server.pid):
        with contextlib.suppress(OSError, KeyError, ValueError):
            output = _status(pid)
            name = POSTGRES if output["Name"] == "postgres" else f"{output['Name']} {pid}"
            megabytes, files, threads = found.get(name, (0.0, 0, 0))
            own = int(output["RssAnon"].split()[0]) / 1024
            opened = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            found[name] = (megabytes + own, files + opened, threads + int(output["Threads"]))
    for name, (megabytes, files, threads) in found.items():
        track = tracks.setdefault(name, Track(name))
        track.times.append(moment)
        track.megabytes.append(megabytes)
        track.files.append(files)
        track.threads.append(threads)


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@dataclass(slots=True)
class Seen:
    """Everything that a soak has found so far."""

    tracks: dict[str, Track] = field(default_factory=dict)
    statuses: dict[int, int] = field(default_factory=dict)
    dead: list[Mapping[str, Any]] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)

    def line(self, moment: float) -> str:
        """The current state, in one line."""
        processes = ", ".join(
            f"{track.name} {track.megabytes[-1]:.1f}"
            for track in self.tracks.values()
            if track.times[-1] >= moment
        )
        fired, size = sum(self.statuses.values()), self.dead[-1]["bytes"] / 1_048_576
        return f"{moment / 60:5.1f} min  {fired:>7,} fired  database {size:.0f} MB  MB: {processes}"


def soak(minutes: float, rate: float) -> Seen:
    """The whole of it: load, samples, and what became of the runs."""
    seen = Seen()
    with folder() as made, up(made / "home", **UNPAUSED) as server:
        made_listener = server.call("POST", "/automations", listener("hears"))
        server.call("POST", f"/automations/{made_listener['id']}/activate")
        targets, url = cycle(list(hooks(server))), database_of(server)
        began, sampled, output = time.monotonic(), float("-inf"), 0.0
        for number in count():
            now = time.monotonic() - began
            if now > minutes * 60:
                break
            if now - sampled >= SAMPLE_SECONDS:
                sampled = now
                look(server, seen.tracks, now)
                seen.dead.append(dict(ask(url, DEAD)[0]))
                if now - output >= SAID_SECONDS - SAMPLE_SECONDS / 2:
                    output = now
                    print(seen.line(now), flush=True)
            status = fire(server, next(targets))
            seen.statuses[status] = seen.statuses.get(status, 0) + 1
            time.sleep(max(0.0, began + (number + 1) / rate - time.monotonic()))
        time.sleep(5)
        seen.ends = {row["status"]: row["runs"] for row in ask(url, ENDS)}
    return seen


def rows(tracks: Mapping[str, Track]) -> Iterator[dict[str, Any]]:
    """Every process that was there nearly all the time, and what an hour adds to it."""
    longest = max(len(track.times) for track in tracks.values())
    for track in tracks.values():
        if len(track.times) < longest * 0.9:
            continue
        memory, files = track.gain(track.megabytes), track.gain(track.files)
        grows = memory.rises(MOST_MB_PER_HOUR, LEAST_MB)
        grows = grows or files.rises(MOST_FILES_PER_HOUR, LEAST_FILES)
        yield {
            "process": track.name,
            "first MB": round(memory.first, 1),
            "last MB": round(memory.last, 1),
            "MB/h": round(memory.per_hour, 1),
            "files/h": round(files.per_hour, 1),
            "threads": track.threads[-1],
            "rises": grows,
        }


def measure(minutes: float = MINUTES, rate: float = RATE) -> dict[str, Any]:
    return figures(soak(minutes, rate), minutes, rate)


def figures(seen: Seen, minutes: float, rate: float) -> dict[str, Any]:
    """What is kept of a soak, with its verdict."""
    processes = list(rows(seen.tracks))
    runs, last = sum(seen.ends.values()), seen.dead[-1]
    return {
        "minutes": minutes,
        "rate": rate,
        "processes": processes,
        "dead rows": [seen.dead[len(seen.dead) // 2]["dead"], last["dead"]],
        "live rows": last["live"],
        "answers": {str(code): times for code, times in sorted(seen.statuses.items())},
        "runs": seen.ends,
        "bytes a run": round(last["bytes"] / max(runs, 1)),
        "flat": not any(row["rises"] for row in processes),
    }


def show(found: Mapping[str, Any]) -> None:
    """The table and the verdict."""
    heads = f"{'first MB':>9} {'last MB':>8} {'MB/h':>7} {'files/h':>8} threads"
    print(f"{'process':>22} {heads}    bar {MOST_MB_PER_HOUR:.0f} MB/h")
    for row in found["processes"]:
        numbers = f"{row['first MB']:>9} {row['last MB']:>8} {row['MB/h']:>7} {row['files/h']:>8}"
        print(f"{row['process']:>22} {numbers} {row['threads']:>7}{_rising(row)}")
    half, end = found["dead rows"]
    print(f"dead rows {half} at half time, {end} at the end ({found['live rows']} live)")
    print(f"answers {found['answers']}, runs {found['runs']}, {found['bytes a run']} bytes a run")
    print(f"{found['minutes']:g} minutes: {'flat' if found['flat'] else 'something grows'}")


def _rising(row: Mapping[str, Any]) -> str:
    return "   rises" if row["rises"] else ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--rate", type=float, default=RATE, help="runs asked for in a second")
    parser.add_argument("--samples", type=Path, help="a file for all samples, as JSON")
    results.add_options(parser)
    chosen = parser.parse_args()
    leave_in_order()
    seen = soak(chosen.minutes, chosen.rate)
    if chosen.samples:
        samples = {track.name: track.megabytes for track in seen.tracks.values()}
        chosen.samples.write_text(json.dumps(samples))
    found = figures(seen, chosen.minutes, chosen.rate)
    show(found)
    results.keep(chosen, {NAME: found})
    sys.exit(0 if found["flat"] else 1)


if __name__ == "__main__":
    main()
