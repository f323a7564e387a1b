"""All benchmarks with one command.

python -m bench            the tables, beside the last committed result
python -m bench --save     the same, kept as bench/results.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

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
    schedules,
    scripts,
    server,
    start,
    webhooks,
)

RESULTS = Path(__file__).parent / "results.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    before = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
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
    if chosen.save:
        RESULTS.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
