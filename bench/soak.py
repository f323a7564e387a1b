"""A steady load for a long time: does anything grow that should not?

python -m bench.soak [--minutes 30] [--rate 20]

A whole server, as a person has it, is given runs of several kinds: one step and five, one that
fails, one that sleeps, and one that an event starts. Every few seconds the memory of each of its
processes is looked at, its open files and threads, and what its tables hold that is dead. The
first half is for warming up; a straight line through the second half says what an hour would add.
Memory is what a process has to itself: pages of files and of the database's shared buffers are
left out, for they are bounded by what they are. The command fails when a line rises.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import Any, Final

from bench.server import Server, family, folder, up
from bench.webhooks import OPEN, ask, database_of, definition

SAMPLE_SECONDS: Final = 10.0
# Less than this in an hour cannot be told from the allocator's own coming and going.
MOST_MB_PER_HOUR: Final = 12.0
MOST_FILES_PER_HOUR: Final = 20.0
POSTGRES: Final = "Postgres, all of it"

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
    moments: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)

    def per_hour(self, values: Sequence[float]) -> float:
        """The slope of a straight line through the second half."""
        half = len(values) // 2
        return slope(self.moments[half:], values[half:]) * 3600


def slope(moments: Sequence[float], values: Sequence[float]) -> float:
    """Least squares; nothing for fewer than three points."""
    if len(moments) < 3:
        return 0.0
    middle, mean = sum(moments) / len(moments), sum(values) / len(values)
    spread = sum((moment - middle) ** 2 for moment in moments)
    both = zip(moments, values, strict=True)
    return sum((moment - middle) * (value - mean) for moment, value in both) / spread


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
        server.address + path, method="POST", data=b'{"say":"hello"}',
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )  # fmt: skip
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return int(refused.code)


def look(server: Server, tracks: dict[str, Track], moment: float) -> None:
    """One sample of every process that belongs to the server; those of Postgres count as one."""
    found: dict[str, tuple[float, int, int]] = {}
    for pid in family(server.pid):
        with contextlib.suppress(OSError, KeyError, ValueError):
            said = _status(pid)
            name = POSTGRES if said["Name"] == "postgres" else f"{said['Name']} {pid}"
            megabytes, files, threads = found.get(name, (0.0, 0, 0))
            own = int(said["RssAnon"].split()[0]) / 1024
            opened = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            found[name] = (megabytes + own, files + opened, threads + int(said["Threads"]))
    for name, (megabytes, files, threads) in found.items():
        track = tracks.setdefault(name, Track(name))
        track.moments.append(moment)
        track.megabytes.append(megabytes)
        track.files.append(files)
        track.threads.append(threads)


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def soak(minutes: float, rate: float) -> dict[str, Any]:
    """The whole of it: load, samples, and what became of the runs."""
    tracks: dict[str, Track] = {}
    statuses: dict[int, int] = {}
    dead: list[Mapping[str, Any]] = []
    with folder() as made, up(made / "home", **OPEN) as server:
        made_listener = server.call("POST", "/automations", listener("hears"))
        server.call("POST", f"/automations/{made_listener['id']}/activate")
        targets, url = cycle(list(hooks(server))), database_of(server)
        began, sampled = time.monotonic(), float("-inf")
        for number in count():
            now = time.monotonic()
            if now - began > minutes * 60:
                break
            if now - sampled >= SAMPLE_SECONDS:
                sampled = now
                look(server, tracks, now - began)
                dead.append(dict(ask(url, DEAD)[0]))
            status = fire(server, next(targets))
            statuses[status] = statuses.get(status, 0) + 1
            time.sleep(max(0.0, began + (number + 1) / rate - time.monotonic()))
        time.sleep(5)
        ends = {row["status"]: row["runs"] for row in ask(url, ENDS)}
    return {"tracks": tracks, "statuses": statuses, "dead": dead, "ends": ends}


def rows(tracks: Mapping[str, Track]) -> Iterator[dict[str, Any]]:
    """Every process that was there for the whole second half, and what an hour adds to it."""
    longest = max(len(track.moments) for track in tracks.values())
    for track in tracks.values():
        if len(track.moments) < longest * 0.9:
            continue
        half = len(track.megabytes) // 2
        yield {
            "process": track.name,
            "middle MB": round(track.megabytes[half], 1),
            "last MB": round(track.megabytes[-1], 1),
            "MB/h": round(track.per_hour(track.megabytes), 1),
            "files/h": round(track.per_hour(track.files), 1),
            "threads": track.threads[-1],
        }


def show(found: Mapping[str, Any]) -> bool:
    """The table; whether everything was flat."""
    flat = True
    print(f"{'process':>22} {'middle MB':>10} {'last MB':>8} {'MB/h':>7} {'files/h':>8} threads")
    for row in rows(found["tracks"]):
        rises = row["MB/h"] > MOST_MB_PER_HOUR or row["files/h"] > MOST_FILES_PER_HOUR
        flat = flat and not rises
        figures = f"{row['middle MB']:>10} {row['last MB']:>8} {row['MB/h']:>7} {row['files/h']:>8}"
        print(f"{row['process']:>22} {figures} {row['threads']:>7}{'   rises' if rises else ''}")
    first, last = found["dead"][len(found["dead"]) // 2], found["dead"][-1]
    print(
        f"dead rows {first['dead']} at half time, {last['dead']} at the end ({last['live']} live)"
    )
    runs = sum(found["ends"].values())
    print(
        f"answers {found['statuses']}, runs {found['ends']}, {last['bytes'] / runs:.0f} bytes a run"
    )
    print("flat" if flat else "something grows")
    return flat


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=20, help="runs asked for in a second")
    parser.add_argument("--keep", type=Path, help="a file for all samples, as JSON")
    chosen = parser.parse_args()
    found = soak(chosen.minutes, chosen.rate)
    if chosen.keep:
        kept = {track.name: track.megabytes for track in found["tracks"].values()}
        chosen.keep.write_text(json.dumps(kept))
    sys.exit(0 if show(found) else 1)


if __name__ == "__main__":
    main()
