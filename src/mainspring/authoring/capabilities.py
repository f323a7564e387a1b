"""Authoring capabilities for members, clients and runs: create, edit, test and archive.

A run needs a grant for each of them and can author at most what it may do itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mainspring.authoring import rehearsing_schemas as rehearsing
from mainspring.authoring import saving_schemas as saving
from mainspring.authoring import trying_schemas as trying
from mainspring.authoring.editing import delete_handler, update_handler
from mainspring.authoring.phrases.capability import read_schedule_capability
from mainspring.authoring.playbook_capabilities import (
    list_handler,
    overlap_handler,
    playbook_handler,
)
from mainspring.authoring.prompts import prompt_capabilities
from mainspring.authoring.proposals.capabilities import proposal_capabilities
from mainspring.authoring.rehearsing import get_rehearsal_handler as look_again_handler
from mainspring.authoring.rehearsing import rehearse_handler
from mainspring.authoring.running import get_run_handler, run_handler
from mainspring.authoring.saving import save_handler
from mainspring.authoring.service import AuthoringService
from mainspring.contracts.capability import Annotations, Capability, Effect
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset

_READS: Final = Annotations(toolset=Toolset.AUTHORING, effect=Effect.READ, seconds=0.5)
_KEEPS: Final = Annotations(
    toolset=Toolset.AUTHORING, effect=Effect.KEEP, transactional=True, seconds=0.5
)
# Members who may only activate and pause can call this too; the handler checks the rest.
_SWITCHES: Final = Annotations(
    toolset=Toolset.AUTHORING,
    effect=Effect.KEEP,
    transactional=True,
    seconds=0.5,
    permission=Permission.SWITCH,
)
_RUNS: Final = Annotations(
    toolset=Toolset.RUNS, effect=Effect.KEEP, seconds=60.0, permission=Permission.RUN
)
_REHEARSES: Final = replace(_RUNS, toolset=Toolset.AUTHORING)


def _compares(studio: AuthoringService) -> Annotations:
    """Similarity by meaning may call an external model."""
    model = studio.likeness.embedder
    return replace(_READS, asks_outside=model is not None and model.outward)


def authoring_capabilities(studio: AuthoringService) -> tuple[Capability, ...]:
    """Build the authoring capabilities."""
    return (
        *_for_readers(studio),
        *proposal_capabilities(studio),
        *prompt_capabilities(),
        Capability(
            "create_automation_flow",
            "Start making an automation, step by step\n\n"
            "For any wish to create, set up or build an automation. Answers a playbook of ordered "
            "steps, to be followed one question at a time, with skeletons of scripts that write "
            "nothing twice. It changes nothing.",
            trying.FLOW,
            trying.FLOWS,
            playbook_handler(studio),
            annotations=_compares(studio),
        ),
        Capability(
            "save_automation_draft",
            "Save a new automation, paused\n\n"
            "The last step of create_automation_flow. It is not woken before a person activates "
            "it at admin_url. Not for edits: those are update_automation's, and a name that is "
            "taken is refused.",
            saving.SAVE,
            saving.SAVED,
            save_handler(studio),
            annotations=_KEEPS,
        ),
        Capability(
            "update_automation",
            "Change an automation\n\n"
            "Fields that are given replace what was there, the others stay. With "
            "active_version_id an earlier version is in force again, with its grants, caps and "
            "triggers. With state it is set going or at rest.",
            saving.UPDATE,
            saving.UPDATED,
            update_handler(studio),
            annotations=_SWITCHES,
        ),
        Capability(
            "run_automation_once",
            "Run an automation once and wait for its end\n\n"
            "Also while it is paused. By default a dry run, which changes nothing and lists the "
            "calls it pretended; dry_run: false is exactly what a trigger would start. With "
            "run_id none is started: it goes on waiting for that one.",
            trying.RUN,
            trying.RAN,
            run_handler(studio),
            annotations=_RUNS,
        ),
        Capability(
            "rehearse_automation",
            "Rehearse a change over what has fired before\n\n"
            "Runs a version, a proposal or a definition over the last firings, or over samples, "
            "with the answers of then. Nothing is saved, written or sent: it shows what would "
            "have been written, drafted and spent, next to what was.",
            rehearsing.REHEARSE,
            rehearsing.REHEARSED,
            rehearse_handler(studio),
            annotations=_REHEARSES,
        ),
        Capability(
            "delete_automation",
            "Put an automation away\n\n"
            "It is woken and run no more, and overlaps with nothing. Its history stays, and only a "
            "person can bring it back.",
            trying.DELETE,
            trying.DELETED,
            delete_handler(studio),
            annotations=_KEEPS,
        ),
    )


def _for_readers(studio: AuthoringService) -> tuple[Capability, ...]:
    """Build the read-only capabilities."""
    return (
        Capability(
            "get_automation_run",
            "Look at a run of an automation\n\n"
            "Answers at once what run_automation_once would answer of it, whether it has ended or "
            "not.",
            trying.LOOK,
            trying.RAN,
            get_run_handler(studio),
            annotations=replace(_READS, toolset=Toolset.RUNS),
        ),
        Capability(
            "get_rehearsal",
            "Look at a rehearsal again\n\n"
            "Answers at once what rehearse_automation would answer of it, whether it has ended or "
            "not.",
            rehearsing.LOOK,
            rehearsing.REHEARSED,
            look_again_handler(studio),
            annotations=_READS,
        ),
        Capability(
            "list_automations",
            "List the automations there are\n\n"
            "The newest first, each with its state, its version and when it last ran live. What "
            "was put away is listed only when it is asked for by its state, archived.",
            trying.LIST,
            trying.LISTED,
            list_handler(studio),
            annotations=_READS,
        ),
        Capability(
            "find_overlapping_automations",
            "Find automations that write the same boards\n\n"
            "Before a new one is saved. strict_overlap: the same board and list field, and one "
            "moment can wake both. With intent, those that mean something alike are added.",
            trying.OVERLAP,
            trying.OVERLAPS,
            overlap_handler(studio),
            annotations=_compares(studio),
        ),
        read_schedule_capability(),
    )
