"""Prefect's side: a flow of tasks, and the orders that run it many times.

Runs in Prefect's own environment, against its own server. It reads one order per line and answers
with one line that begins with ``@``.
"""

import asyncio
import json
import sys
import time

from prefect import flow, task

AT_A_TIME = 8


@task
async def step(value):
    return {"n": value["n"] + 1, "said": value["said"]}


@flow
async def work(steps, value):
    for _ in range(steps):
        value = await step(value)
    return value


async def drain(steps, runs):
    gate = asyncio.Semaphore(AT_A_TIME)

    async def one(number):
        async with gate:
            return await work(steps, {"n": number, "said": "hello"})

    began = time.time()
    await asyncio.gather(*(one(number) for number in range(runs)))
    return time.time() - began


def main():
    print("@" + json.dumps({"ready": True}), flush=True)
    steps = runs = 0
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "fill":
            steps, runs = order["steps"], order["runs"]
            output = {"filled": runs}
        else:
            # A flow that fails raises, and ends this.
            output = {"seconds": asyncio.run(drain(steps, runs)), "good": runs}
        print("@" + json.dumps(output), flush=True)


if __name__ == "__main__":
    main()
