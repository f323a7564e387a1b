"""A master key from a program: taken as it prints it, and nothing of it shown."""

from __future__ import annotations

import base64
import os
import sys
import time
from pathlib import Path

import pytest

from mainspring.contracts.errors import InternalError
from mainspring.workspace.keyring import Keyring, MasterKey, ask_command, create_key

KEY = MasterKey(b"\x07" * 32)
PRINTED = base64.b64encode(KEY.material).decode()


def _program(folder: Path, text: str) -> str:
    path = folder / "a program"
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o700)
    return f"'{path}'"


def test_the_key_is_what_the_program_prints(tmp_path: Path) -> None:
    command = _program(tmp_path, "import sys; print(sys.argv[1])")

    assert ask_command(f"{command} {PRINTED}") == KEY


def test_the_program_runs_without_a_shell_and_sees_nothing_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", "postgres://somebody:password@nowhere/")
    seen = tmp_path / "seen"
    command = _program(
        tmp_path,
        "import os, sys\n"
        f"open({str(seen)!r}, 'w').write('\\n'.join([*sorted(os.environ), *sys.argv[2:]]))\n"
        "print(sys.argv[1])",
    )

    assert ask_command(f"{command} {PRINTED} '; echo no' $HOME") == KEY

    lines = seen.read_text().splitlines()
    assert lines[-2:] == ["; echo no", "$HOME"]
    # Python itself may set the locale of a program that has none.
    assert set(lines[:-2]) <= {"HOME", "PATH", "LC_CTYPE"}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "not a program"),
        ("  ", "not a program"),
        ("'open quote", "not a program"),
        ("/no/such/program-of-ours", "cannot be started"),
        ("PYTHON -c 'import sys; print(\"hunter2\"); sys.exit(3)'", "failed with code 3"),
        ("PYTHON -c 'import sys; print(\"hunter2\", file=sys.stderr)'", "did not print 32 bytes"),
        ("PYTHON -c 'print(\"hunter2\")'", "did not print 32 bytes"),
        ("PYTHON -c 'print(\"hunter2\" * 1000)'", "did not print 32 bytes"),
    ],
)
def test_a_program_that_gives_no_key_is_a_sentence_and_is_never_quoted(
    command: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InternalError) as caught:
        ask_command(command.replace("PYTHON", sys.executable))

    assert message in caught.value.detail
    assert not caught.value.retryable
    shown = str(caught.value.as_dict())
    assert "hunter2" not in shown
    assert "program-of-ours" not in shown
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert capfd.readouterr() == ("", "")


def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    command = _program(
        tmp_path,
        "import os, time\n"
        "if os.fork() == 0:\n"
        f"    open({str(pid_file)!r}, 'w').write(str(os.getpid()))\n"
        "time.sleep(600)",
    )

    with pytest.raises(InternalError, match="no answer within"):
        ask_command(command, seconds=1.0)

    child = int(pid_file.read_text())
    deadline = time.monotonic() + 10
    while _lives(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except (ProcessLookupError, FileNotFoundError):
        return False


async def test_a_key_command_takes_precedence_over_the_file_which_still_decrypts(
    tmp_path: Path,
) -> None:
    path = tmp_path / "master.key"
    earlier = create_key(path)
    ring = Keyring(path, f"{_program(tmp_path, 'import sys; print(sys.argv[1])')} {PRINTED}")

    keys = await ring.keys()

    assert (keys.current, keys.sealing) == (KEY, KEY)
    assert keys.find(earlier.id) == earlier
