"""All benchmarks with one command.

python -m bench            the tables, with the last committed result
python -m bench --save     the same, kept as bench/results.json
python -m bench --long     also what takes long: a second worker, scale, the peers, the soak

The long ones are commands of their own (python -m bench.soak), kept in the same file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from typing import Final

from bench import (
    boards,
    engine,
    form,
    gate,
    ingestion,
    language,
    live,
    matcher,
    mcp,
    pages,
    results,
    schedules,
    scripts,
    server,
    start,
    webhooks,
)
from bench.signals import leave_in_order

# By the name of their module. Each is a command of its own and takes the machine for itself.
LONG: Final = {
    "two_workers": "A second worker",
    "scale": "What is stored costs nothing",
    "peers": "Peers",
    "soak": "Staying up",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--long", action="store_true", help="also what takes long")
    results.add_options(parser)
    chosen = parser.parse_args()
    leave_in_order()
    short(chosen)
    # All of them are run, also after one that did not hold.
    held = [long(name, chosen) for name in LONG] if chosen.long else []
    if not all(held):
        raise SystemExit(1)


def long(name: str, chosen: argparse.Namespace) -> bool:
    """One of the long ones; whether it held what it promises."""
    print(f"\n{LONG[name]}", flush=True)
    words = [sys.executable, "-m", f"bench.{name}"]
    if chosen.save:
        # The peers have a page and a file of their own.
        words += ["--save"] if name == "peers" else ["--save", "--into", str(chosen.into)]
    process = subprocess.Popen(words)
    try:
        return process.wait() == 0
    finally:
        # Asked to leave, it ends what it has started; nothing else would.
        process.terminate()
        process.wait()


def short(chosen: argparse.Namespace) -> None:
    """Everything that takes minutes at most."""
    before = results.before(chosen.into)
    found = engine.measure_all(chosen.rounds)
    print("Engine against the floor")
    engine.show(found, before)
    print("\nThe language")
    language.main()
    print("\nEvents against triggers")
    matcher.main()
    print("\nSchedules")
    found["schedules"] = schedules.measure()
    schedules.show(found["schedules"])
    print("\nWebhook in, finished run out")
    found |= webhooks.measure(chosen.rounds)
    webhooks.show(found, before)
    print("\nMCP against the bare server of its library")
    found["mcp"] = mcp.measure(chosen.rounds)
    mcp.show(found["mcp"])
    print("\nA call through the gate against its bare handler")
    found["gate"] = gate.measure()
    gate.show(found["gate"])
    print("\nScripts against bare Deno")
    found["scripts"] = scripts.measure(chosen.rounds)
    scripts.show(found["scripts"])
    print("\nBoards")
    found["boards"] = boards.measure()
    boards.show(found["boards"])
    print("\nStarting")
    start.main()
    found["server"] = server.measure()
    server.show(found["server"])
    print("\nPages")
    found["pages"] = pages.measure()
    pages.show(found["pages"])
    print("\nWhat comes in from integrations")
    found["ingestion"] = ingestion.measure()
    ingestion.show(found["ingestion"])
    print("\nA key press in the largest form")
    found["form"] = form.measure()
    form.show(found["form"])
    print("\nA step that somebody watches")
    found["live"] = live.measure()
    live.show(found["live"])
    results.keep(chosen, found)


if __name__ == "__main__":
    main()
