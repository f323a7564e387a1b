"""Celery's side: the tasks, the worker's settings and the client that hands chains in.

Runs in Celery's own environment. ``celery -A celery_chains worker`` is the worker; as a program
it is the client, which reads one order per line and answers with one line that begins with ``@``.
"""

import json
import os
import sys
import time

from celery import Celery, chain

REDIS = os.environ["BENCH_REDIS"]
app = Celery("bench", broker=REDIS, backend=REDIS)
app.conf.update(
    task_default_queue="work",
    task_acks_late=True,
    # What its documentation advises for many short tasks.
    worker_prefetch_multiplier=64,
    task_serializer="json",
    result_serializer="json",
    accept_content=["json"],
    broker_connection_retry_on_startup=True,
)


@app.task(name="step")
def step(value):
    return {"n": value["n"] + 1, "said": value["said"]}


def fill(steps, runs):
    app.control.cancel_consumer("work", reply=True)
    ids = []
    for number in range(runs):
        parts = [step.s({"n": number, "said": "hello"}), *(step.s() for _ in range(steps - 1))]
        ids.append(chain(*parts).apply_async().id)
    return [app.backend.get_key_for_task(one) for one in ids]


def drain(keys):
    """From the moment the worker may take from the queue until the last result is kept."""
    began = time.time()
    # Without waiting for replies: those are collected for a whole second.
    app.control.add_consumer("work")
    while app.backend.client.exists(*keys) < len(keys):
        time.sleep(0.02)
    seconds = time.time() - began
    ends = [json.loads(stored)["status"] for stored in app.backend.client.mget(keys)]
    return seconds, ends.count("SUCCESS")


def main():
    keys = []
    print("@" + json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "fill":
            keys = fill(order["steps"], order["runs"])
            output = {"filled": len(keys)}
        else:
            seconds, good = drain(keys)
            output = {"seconds": seconds, "good": good}
        print("@" + json.dumps(output), flush=True)


if __name__ == "__main__":
    main()
