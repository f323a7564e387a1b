"""The supervisor: it keeps its parts going, stops them in order, and takes them along."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mainspring.surfaces.cli.supervisor import TOGETHER_SECONDS
from tests.kit.json_lines import JsonLineReader
from tests.kit.processes import is_running, module_process, wait_until

MODULE = "tests.integration.surfaces.cli.supervised_process"
# Nothing waits for this long when all is well.
PATIENCE = 60.0


class Supervised:
    """The process, and what it tells."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.output = JsonLineReader(process.stdout)

    def until(self, **wanted: Any) -> dict[str, Any]:
        return self.output.until(PATIENCE, **wanted)

    def rest(self) -> list[dict[str, Any]]:
        return self.output.rest(PATIENCE)

    def ended(self) -> int:
        return self.process.wait(PATIENCE)


@contextmanager
def supervised(*parts: str, stop_seconds: float = 60.0) -> Iterator[Supervised]:
    with module_process(MODULE, [str(stop_seconds), *parts]) as process:
        yield Supervised(process)


def test_parts_stop_one_kind_after_the_other() -> None:
    parts = ("api:slow", "scheduler:slow", "worker-1:steady", "worker-2:steady")
    with supervised(*parts) as supervisor:
        supervisor.until(state="ready")
        supervisor.process.send_signal(signal.SIGTERM)
        output = supervisor.rest()
        code = supervisor.ended()

    states = [line["state"] for line in output if "state" in line]
    goings = [line["part"] for line in output if line.get("says") == "goes"]
    assert states == ["stopping", "stopped"]
    assert goings[:2] == ["api", "scheduler"]
    assert sorted(goings[2:]) == ["worker-1", "worker-2"]
    assert output[-1]["in_order"] is True
    assert code == 0


def test_a_part_that_was_killed_is_started_again_and_the_others_stay() -> None:
    with supervised("api:steady", "worker:steady") as supervisor:
        before = supervisor.until(state="ready")["parts"]
        os.kill(before["worker"], signal.SIGKILL)
        again = supervisor.until(state="restarted")["parts"]
        os.kill(again["worker"], signal.SIGKILL)
        once_more = supervisor.until(state="restarted")["parts"]

        assert again.keys() == once_more.keys() == {"worker"}
        assert len({before["worker"], again["worker"], once_more["worker"]}) == 3
        assert is_running(before["api"])
        assert not is_running(again["worker"])


def test_a_part_that_was_drained_stays_down_and_the_others_are_kept_going() -> None:
    with supervised("api:steady", "worker-1:drained", "worker-2:steady") as supervisor:
        before = supervisor.until(state="ready")["parts"]
        os.kill(before["worker-1"], signal.SIGTERM)
        supervisor.until(part="worker-1", says="goes")
        wait_until(lambda: not is_running(before["worker-1"]), PATIENCE, "it has left")
        os.kill(before["worker-2"], signal.SIGKILL)
        assert supervisor.until(state="restarted")["parts"].keys() == {"worker-2"}
        os.kill(before["api"], signal.SIGTERM)
        assert supervisor.until(state="restarted")["parts"].keys() == {"api"}
        supervisor.process.send_signal(signal.SIGTERM)
        output = supervisor.rest()
        assert "worker-1" not in [line.get("part") for line in output]
        assert (supervisor.ended(), output[-1]["in_order"]) == (0, True)


def test_a_part_that_never_gets_ready_is_given_up_and_nothing_is_left() -> None:
    with supervised("api:steady", "worker:frail") as supervisor:
        supervisor.until(state="given up", code="part_does_not_start")
        assert supervisor.ended() == 1
        assert not any(line.get("state") == "ready" for line in supervisor.output.before)


def test_a_second_signal_ends_a_part_that_does_not_stop() -> None:
    with supervised("worker:stubborn") as supervisor:
        pid = supervisor.until(state="ready")["parts"]["worker"]
        supervisor.process.send_signal(signal.SIGINT)
        supervisor.until(part="worker", says="told to stop")
        assert is_running(pid)
        time.sleep(TOGETHER_SECONDS)
        supervisor.process.send_signal(signal.SIGINT)

        assert supervisor.until(state="stopped")["in_order"] is False
        assert supervisor.ended() == 0
        assert not is_running(pid)


def test_signals_that_come_together_are_one_stop() -> None:
    """As ``timeout`` and process managers send them: to the process, and to its group."""
    with supervised("echo:slow") as supervisor:
        supervisor.until(state="ready")
        supervisor.process.send_signal(signal.SIGTERM)

        assert supervisor.until(state="stopped")["in_order"] is True


def test_a_part_that_does_not_stop_in_its_time_is_ended() -> None:
    with supervised("worker:stubborn", stop_seconds=0.1) as supervisor:
        pid = supervisor.until(state="ready")["parts"]["worker"]
        supervisor.process.send_signal(signal.SIGTERM)

        assert supervisor.until(state="stopped")["in_order"] is False
        assert not is_running(pid)


def test_a_stop_that_comes_before_all_are_ready_is_a_stop() -> None:
    with supervised("worker:steady", "frail:frail") as supervisor:
        supervisor.until(part="worker", says="here")
        supervisor.process.send_signal(signal.SIGTERM)

        assert supervisor.until(state="stopped")["in_order"] is True
        assert supervisor.ended() == 0


def test_ctrl_c_in_a_terminal_leaves_the_order_to_the_supervisor() -> None:
    """The terminal sends it to every process; a part waits until it is asked."""
    with supervised("api:steady", "worker:steady") as supervisor:
        parts = supervisor.until(state="ready")["parts"]
        for pid in parts.values():
            os.kill(pid, signal.SIGINT)
            os.kill(pid, signal.SIGHUP)
        supervisor.process.send_signal(signal.SIGINT)

        goings = [line["part"] for line in supervisor.rest() if line.get("says") == "goes"]
        assert goings == ["api", "worker"]


def test_a_child_holds_nothing_of_its_parent_but_its_line() -> None:
    """A lock of the parent that a child kept would outlive the parent."""
    with supervised("api:steady", "worker:steady") as supervisor:
        supervisor.until(state="ready")
        stored = {
            line["part"]: line["files"]
            for line in supervisor.output.before
            if line.get("says") == "here"
        }

        assert {name: len(files) for name, files in stored.items()} == {"api": 1, "worker": 1}


def test_no_part_outlives_a_supervisor_that_was_killed() -> None:
    with supervised("api:steady", "worker:stubborn") as supervisor:
        parts = supervisor.until(state="ready")["parts"]
        supervisor.process.kill()
        supervisor.process.wait(PATIENCE)

        wait_until(lambda: not any(map(is_running, parts.values())), 5.0, "the end of all")
