"""Databases that older code has made, one per migration level.

``python -m scripts.make_level_fixture`` makes the files; see there for what is in them.
"""

from __future__ import annotations

import gzip
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mainspring.store.database import INSIDE
from mainspring.store.postgres_programs import find_binaries

FOLDER: Final = Path(__file__).resolve().parents[1] / "fixtures" / "levels"
# Roles belong to the cluster and are in no dump of one database.
_ROLE: Final = f"""
    DO $$ BEGIN
        CREATE ROLE {INSIDE};
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
    END $$;
"""


@dataclass(frozen=True, slots=True)
class Level:
    """A database of an older version: its rows, its files, and what to ask of it."""

    number: int
    commit: str
    files: dict[str, str]
    facts: dict[str, Any]

    def load(self, url: str, home: Path) -> None:
        """Fills an empty database and a data folder with what the older version left."""
        sql = gzip.decompress((FOLDER / f"{self.number:04}.sql.gz").read_bytes())
        subprocess.run(
            [
                find_binaries().program("psql"),
                "--quiet",
                "--no-psqlrc",
                "--output",
                "/dev/null",
                "--set",
                "ON_ERROR_STOP=1",
                "--dbname",
                url,
            ],
            input=_ROLE.encode() + sql,
            check=True,
        )
        home.mkdir(exist_ok=True)
        for name, text in self.files.items():
            path = home / name
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")


def level_numbers() -> list[int]:
    return sorted(int(path.stem) for path in FOLDER.glob("*.json"))


def read_level(number: int) -> Level:
    made = json.loads((FOLDER / f"{number:04}.json").read_text(encoding="utf-8"))
    return Level(number, made["commit"], made["files"], made["facts"])
