"""Calls the API from a machine of the street, as a program of its owner would.

    python -m tests.machines.api_client HOME ADDRESS AUTOMATION COUNT

Each call has a key and is sent again until it is answered, so that a call that was broken off
starts one run and not two. Prints the runs that were accepted, a line each.
"""

from __future__ import annotations

import sys
import time
import uuid
from pathlib import Path

import httpx2

_PATIENCE = 120.0


def accepted(client: httpx2.Client, automation: str) -> str:
    """The run of one call that was answered."""
    key, deadline = str(uuid.uuid4()), time.monotonic() + _PATIENCE
    while True:
        try:
            answer = client.post(f"/automations/{automation}/run", headers={"Idempotency-Key": key})
        except httpx2.HTTPError:
            answer = None
        if answer is not None and answer.status_code == 202:
            return str(answer.json()["run_id"])
        assert time.monotonic() < deadline, answer and answer.text
        time.sleep(0.2)


def main() -> None:
    home, address, automation, count = sys.argv[1:]
    token = Path(home, "owner.token").read_text().strip()
    shown = {"Authorization": f"Bearer {token}"}
    with httpx2.Client(base_url=f"{address}/api/v1", headers=shown, timeout=20.0) as client:
        for _ in range(int(count)):
            sys.stdout.write(accepted(client, automation) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
