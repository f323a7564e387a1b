"""DBOS's side: a workflow of durable steps, its queue, and the orders that fill and drain it.

Runs in DBOS's own environment. It reads one order per line and answers with one line that begins
with ``@``.
"""

import asyncio
import json
import os
import sys
import threading
import time

import sqlalchemy
from dbos import DBOS

URL = os.environ["BENCH_POSTGRES"]
AT_A_TIME = int(os.environ.get("BENCH_AT_A_TIME", "32"))
KIND = os.environ.get("BENCH_KIND", "sync")
# How far apart its looks into the queue are: the shortest that still pays.
POLL_SECONDS = 0.05
# The library takes the threads of the loop that it meets first, so that one has to stay.
LOOP = asyncio.new_event_loop()


@DBOS.step()
def step(value):
    return {"n": value["n"] + 1, "said": value["said"]}


@DBOS.workflow()
def work(steps, value):
    for _ in range(steps):
        value = step(value)
    return value


@DBOS.step()
async def astep(value):
    return {"n": value["n"] + 1, "said": value["said"]}


@DBOS.workflow()
async def awork(steps, value):
    for _ in range(steps):
        value = await astep(value)
    return value


async def afill(queue, steps, runs):
    for number in range(runs):
        await DBOS.enqueue_workflow_async(queue, awork, steps, {"n": number, "said": "hello"})


def fill(queue, steps, runs):
    """Hands in workflows for a queue that nobody reads yet."""
    if KIND == "async":
        asyncio.run_coroutine_threadsafe(afill(queue, steps, runs), LOOP).result()
        return
    for number in range(runs):
        DBOS.enqueue_workflow(queue, work, steps, {"n": number, "said": "hello"})


def drain(queue, engine, runs):
    """From the start of the first workflow to the end of the last, as its own rows have it."""
    DBOS.register_queue(queue, worker_concurrency=AT_A_TIME, polling_interval_sec=POLL_SECONDS)
    where = f"FROM dbos.workflow_status WHERE queue_name = '{queue}'"
    done = sqlalchemy.text(f"SELECT count(*) {where} AND status IN ('SUCCESS', 'ERROR')")
    good = sqlalchemy.text(f"SELECT count(*) {where} AND status = 'SUCCESS'")
    span = sqlalchemy.text(f"SELECT min(started_at_epoch_ms), max(updated_at) {where}")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while connection.execute(done).scalar() < runs:
            time.sleep(0.05)
        first, last = connection.execute(span).one()
        return (last - first) / 1000, connection.execute(good).scalar()


def main():
    threading.Thread(target=LOOP.run_forever, daemon=True).start()
    DBOS(config={"name": "bench", "system_database_url": URL, "log_level": "ERROR"})
    DBOS.launch()
    engine = sqlalchemy.create_engine(URL.replace("postgresql://", "postgresql+psycopg://"))
    print("@" + json.dumps({"ready": True}), flush=True)
    number, runs = 0, 0
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "fill":
            number, runs = number + 1, order["runs"]
            fill(f"work_{number}", order["steps"], runs)
            output = {"filled": runs}
        else:
            seconds, good = drain(f"work_{number}", engine, runs)
            output = {"seconds": seconds, "good": good}
        print("@" + json.dumps(output), flush=True)
    DBOS.destroy()


if __name__ == "__main__":
    main()
