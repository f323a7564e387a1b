"""The table of limits. Each has a default, a unit and a description; operators may set any.

The generated reference is built from this table, so every limit must be here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from mainspring.contracts.errors import Invalid


def _limit(default: int, unit: str, sentence: str) -> Any:
    return field(default=default, metadata={"unit": unit, "sentence": sentence})


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes and counts nothing may exceed."""

    json_bytes: int = _limit(1_048_576, "bytes", "A submitted JSON document, as text.")
    import_bytes: int = _limit(16_777_216, "bytes", "A bundle of definitions to import, as text.")
    json_depth: int = _limit(64, "levels", "Nesting of a JSON document.")
    json_digits: int = _limit(400, "digits", "One number in a JSON document.")
    definition_bytes: int = _limit(1_048_576, "bytes", "A definition, as canonical JSON.")
    steps: int = _limit(100, "steps", "Steps of a plan, nested ones included.")
    triggers: int = _limit(20, "triggers", "Triggers of one definition.")
    nesting: int = _limit(2, "levels", "for_each inside for_each.")
    for_each_items: int = _limit(1_000, "items", "Items that one for_each can process.")
    step_records: int = _limit(20_000, "records", "Step records of one run.")
    payload_bytes: int = _limit(262_144, "bytes", "A trigger's payload, and a run's inputs.")
    upload_bytes: int = _limit(33_554_432, "bytes", "A request body with files, all together.")
    upload_parts: int = _limit(200, "parts", "Fields and files of one request body.")
    upload_files: int = _limit(20, "files", "Files of one request body.")
    step_output_bytes: int = _limit(1_048_576, "bytes", "The output of one step.")
    call_arguments_bytes: int = _limit(1_048_576, "bytes", "The arguments of one call.")
    call_result_bytes: int = _limit(65_536, "bytes", "A call's result kept in its record.")
    kv_value_bytes: int = _limit(65_536, "bytes", "One value in automation_kv.")
    kv_keys: int = _limit(10_000, "keys", "Keys of one automation in automation_kv.")
    template_bytes: int = _limit(8_192, "bytes", "The source of one template.")
    templates_bytes: int = _limit(65_536, "bytes", "All templates of one definition together.")
    template_output: int = _limit(1_000_000, "characters", "What one template may render.")
    template_value: int = _limit(1_000_000, "characters", "Any value inside a template.")
    template_fuel: int = _limit(200_000, "steps", "Operations of one render.")
    template_milliseconds: int = _limit(100, "ms", "Processor time of one render.")
    filter_nodes: int = _limit(200, "nodes", "Operators and groups in one filter.")
    filter_depth: int = _limit(16, "levels", "Nesting of one filter.")
    regex_bytes: int = _limit(1_000, "bytes", "One regular expression.")
    http_request_bytes: int = _limit(1_048_576, "bytes", "A request body sent outside.")
    fetch_body_bytes: int = _limit(204_800, "bytes", "The body of one http_fetch.")
    egress_day_bytes: int = _limit(
        10_485_760, "bytes", "What one automation may send with http_fetch in a day."
    )
    http_response_bytes: int = _limit(409_600, "bytes", "A response body, decoded.")
    integration_request_bytes: int = _limit(
        75_497_472, "bytes", "A request body that an integration sends, attachments included."
    )
    integration_response_bytes: int = _limit(
        33_554_432, "bytes", "An answer that an integration reads, decoded; most ask for less."
    )
    http_redirects: int = _limit(5, "hops", "Redirects followed, each checked again.")
    http_seconds: int = _limit(60, "s", "One outbound request, from dialling to the last byte.")
    secret_bytes: int = _limit(8_192, "bytes", "The value of one secret.")
    chain_depth: int = _limit(8, "runs", "Runs that start runs, from the first to the last.")
    chain_runs: int = _limit(1_000, "runs", "Runs that one first run may lead to.")
    takeovers: int = _limit(
        3, "takeovers", "Workers that died in mid-step without progress, the last with one run."
    )
    losses: int = _limit(10, "losses", "Workers that died or were held up, without progress.")
    failures_in_row: int = _limit(5, "runs", "Failures after which an automation is paused.")
    missed_moments: int = _limit(100, "firings", "Missed fire times of a schedule that still fire.")
    missed_records: int = _limit(1_000, "records", "Missed moments recorded one by one.")
    poll_seconds: int = _limit(60, "s", "The shortest interval of a poll trigger.")
    poll_items: int = _limit(2_000, "items", "Items that one look of a poll trigger may find.")
    poll_seen: int = _limit(20_000, "items", "Items that one poll trigger remembers.")
    webhook_burst: int = _limit(5_000, "calls", "Burst of requests to one webhook.")
    webhook_per_second: int = _limit(250, "calls", "Calls of one webhook a second, for long.")
    webhook_beside_per_second: int = _limit(
        50, "calls", "Calls of one webhook a second while webhooks of other workspaces are called."
    )
    webhook_waiting: int = _limit(2_000, "calls", "Calls that wait to be recorded, in one process.")
    sends_per_minute: int = _limit(
        30, "calls", "Sends of one automation and capability that no person agreed to, in a minute."
    )
    direct_burst: int = _limit(10_000, "calls", "Burst of requests from one member or token.")
    direct_per_second: int = _limit(
        2_000, "calls", "Calls of one member or token a second, for long."
    )
    direct_call_days: int = _limit(30, "days", "Records of calls outside of runs are kept.")
    reservation_seconds: int = _limit(
        3_600, "s", "A budget reservation of a call that never returned is released after this."
    )
    event_days: int = _limit(7, "days", "Events are kept in the log.")
    page_bytes: int = _limit(1_000_000, "bytes", "The body of one page.")
    page_values_bytes: int = _limit(65_536, "bytes", "The front matter of one page.")
    artifact_bytes: int = _limit(10_485_760, "bytes", "One artifact.")
    artifact_days: int = _limit(30, "days", "An artifact of the default retention is kept.")
    transient_hours: int = _limit(24, "hours", "A transient artifact is kept.")
    boards: int = _limit(1_000, "boards", "Boards of one workspace.")
    board_datasets: int = _limit(50, "datasets", "Datasets of one board.")
    board_rows: int = _limit(1_000_000, "rows", "Rows of one dataset, deleted ones included.")
    board_row_bytes: int = _limit(65_536, "bytes", "One row, and one skill or form of a board.")
    board_row_keys: int = _limit(500, "keys", "Keys of one row.")
    # Five thousand ordinary rows are larger than the arguments of any other call.
    board_append_bytes: int = _limit(8_388_608, "bytes", "Rows appended or changed by one call.")
    board_parts: int = _limit(100, "parts", "Skills of one board, and forms of one board.")
    board_dashboard_bytes: int = _limit(524_288, "bytes", "The dashboard of a board.")
    board_versions: int = _limit(100, "versions", "Versions kept of each part of a board.")
    script_memory_mb: int = _limit(512, "MB", "Memory of one script.")
    script_output_bytes: int = _limit(
        1_048_576, "bytes", "What is kept of each output stream of one try at a script."
    )
    model_seconds: int = _limit(300, "s", "One answer of a model, from asking to the last word.")
    mcp_response_bytes: int = _limit(4_194_304, "bytes", "One answer of a server of tools.")
    authoring_seconds: int = _limit(300, "s", "A model at work on one proposal, all its asks.")
    mcp_seconds: int = _limit(120, "s", "One question to a server of tools, with its answer.")
    mcp_tools: int = _limit(500, "tools", "Tools of one connection.")
    mcp_tools_bytes: int = _limit(2_097_152, "bytes", "All tools of one connection, as text.")
    workspace_tools_bytes: int = _limit(
        4_194_304, "bytes", "All tools that one workspace has agreed to, as text."
    )
    model_request_bytes: int = _limit(4_194_304, "bytes", "What one ask sends to a model.")
    model_response_bytes: int = _limit(4_194_304, "bytes", "What a model answers, on the wire.")
    agent_result_characters: int = _limit(
        50_000, "characters", "What an agent is shown of one document or one answer of a tool."
    )
    usage_days: int = _limit(400, "days", "Rows of the ledger of models are kept.")
    usage_reports: int = _limit(
        10_000, "reports", "What one try at a script may report of models of its own."
    )
    connections: int = _limit(100, "connections", "Servers of tools of one workspace.")
    tool_text: int = _limit(8_000, "characters", "The description of a tool; the rest is cut off.")
    tool_schema_bytes: int = _limit(32_768, "bytes", "One schema of a tool, as canonical JSON.")
    streams: int = _limit(200, "streams", "Streams that one process keeps open at a time.")
    streams_of_member: int = _limit(20, "streams", "Streams of one member, in one process.")
    retry_seconds: int = _limit(3_600, "s", "The longest pause between two attempts.")


def list_limits() -> Iterator[tuple[str, int, str, str]]:
    """Name, default, unit and description of each limit, for the reference."""
    defaults = Limits()
    for entry in fields(Limits):
        default: int = getattr(defaults, entry.name)
        yield entry.name, default, entry.metadata["unit"], entry.metadata["sentence"]


def override_limits(overrides: Mapping[str, int]) -> Limits:
    """The defaults with an operator's values; an unknown name is refused."""
    unknown = sorted(overrides.keys() - {entry.name for entry in fields(Limits)})
    if unknown:
        raise Invalid(f"There is no limit called {unknown[0]!r}.", code="unknown_limit")
    return replace(Limits(), **overrides)
