"""The embedded server's settings: many small durable commits on a small machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

from mainspring.store.binaries import PostgresBinaries

_LZ4_SINCE = 15
_IO_METHODS_SINCE = 18

_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "shared_buffers": "128MB",
    # Compiling a statement costs more than any of ours takes to run.
    "jit": "off",
    # A run's small statements gain nothing from helpers, and two cores are soon taken.
    "max_parallel_workers_per_gather": "0",
    "max_logical_replication_workers": "0",
    "random_page_cost": "1.1",
    # What was answered as committed is on disk.
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    # Bounds how much is replayed after a crash, and so how long the next start takes.
    "checkpoint_timeout": "5min",
    "max_wal_size": "1GB",
    "checkpoint_completion_target": "0.9",
    # Queue tables die young: clean up and count again early.
    "autovacuum_naptime": "15s",
    "autovacuum_vacuum_scale_factor": "0.05",
    "autovacuum_analyze_scale_factor": "0.05",
    "autovacuum_vacuum_insert_scale_factor": "0.1",
    "autovacuum_max_workers": "2",
    # The log is for the server's own life. Statements and the values in their errors
    # belong to whoever sent them and must not be kept in a file.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
    "cluster_name": "mainspring",
}


def build_server_settings(binaries: PostgresBinaries, data: Path, socket: Path) -> dict[str, str]:
    """What the server is started with, as far as these programs know it."""
    chosen = {**_SETTINGS, "unix_socket_directories": _quote_path(socket)}
    if binaries.major >= _IO_METHODS_SINCE:
        # The default keeps three processes for reads that our small tables do not need.
        chosen["io_method"] = "sync"
    if binaries.major >= _LZ4_SINCE and _is_setting_supported(
        binaries, data, "wal_compression", "lz4"
    ):
        chosen["wal_compression"] = "lz4"
    return chosen


def _quote_path(folder: Path) -> str:
    return '"' + str(folder).replace('"', '""') + '"'


def _is_setting_supported(binaries: PostgresBinaries, data: Path, name: str, value: str) -> bool:
    """Whether these programs were built with what the value needs."""
    try:
        asked = subprocess.run(  # noqa: S603  (asks the program about a setting)
            [binaries.program("postgres"), "-C", name, "-D", data, "-c", f"{name}={value}"],
            capture_output=True,
            check=False,
            cwd="/",
        )
    except OSError:
        return False
    return asked.returncode == 0
