"""Commands about automations, their versions, runs and proposals."""

from __future__ import annotations

from typing import Final

from mainspring.surfaces.cli.declarations import Command, Param, flag, limit, option

_AUTOMATION: Final = Param(
    "text", "An automation's name, its id, or the id's first characters.", metavar="AUTOMATION"
)

_AUTOMATIONS: Final = (
    Command(
        "list",
        "List automations with state, last run and next run.",
        "listings:show_list",
        (
            option(
                "state",
                "Only this state. Default: all except archived.",
                choices=("active", "paused", "archived"),
            ),
            option("search", "Only names that contain this text.", metavar="TEXT"),
            limit(100),
        ),
    ),
    Command(
        "show",
        "Show an automation: what it does, when it starts, what it costs.",
        "automation_view:show_automation",
        (_AUTOMATION,),
    ),
    Command(
        "next",
        "List the next times at which schedules start an automation.",
        "next_fire_times:show_next_fire_times",
        (_AUTOMATION,),
    ),
    Command(
        "activate",
        "Let triggers start an automation.",
        "states:change_state",
        (_AUTOMATION,),
        {"act": "activate"},
    ),
    Command(
        "pause",
        "Stop triggers from starting an automation. Current runs continue.",
        "states:change_state",
        (_AUTOMATION,),
        {"act": "pause"},
    ),
    Command(
        "acknowledge",
        "Mark failures as known and reset the failure count.",
        "states:change_state",
        (_AUTOMATION,),
        {"act": "acknowledge"},
    ),
    Command(
        "archive",
        "Archive an automation. Its name becomes free; its history is kept.",
        "states:change_state",
        (_AUTOMATION,),
        {"act": "archive"},
    ),
    Command(
        "restore",
        "Restore an archived automation, paused.",
        "states:change_state",
        (_AUTOMATION,),
        {"act": "restore"},
    ),
    Command(
        "versions",
        "List the versions of an automation, newest first.",
        "versions:show_versions",
        (_AUTOMATION, limit(50, name="most")),
    ),
)

_RUN: Final = Param("text", "A run's id, its first characters, or `last`.", metavar="RUN")
_FOLLOW: Final = flag(
    "follow", "Follow until the run ends. Ctrl-C stops following only.", "--follow", "-f"
)

_RUNS: Final = (
    Command(
        "runs",
        "List runs, newest first.",
        "listings:show_runs",
        (
            option(
                "status",
                "Only runs with this status.",
                choices=(
                    *("pending", "running", "waiting", "succeeded", "failed", "cancelled"),
                    *("timed_out", "skipped", "dead"),
                ),
            ),
            option("automation", "Only runs of this automation (name or id)."),
            limit(20),
        ),
    ),
    Command(
        "logs",
        "Show the steps of a run: attempts, durations, errors.",
        "runs:show_logs",
        (_RUN, _FOLLOW, flag("calls", "Also show the calls of each step, with secrets masked.")),
    ),
    Command("cancel", "Cancel a run.", "runs:cancel", (_RUN,)),
)

_PROPOSAL: Final = Param(
    "text", "A proposal's id, its first characters, or `last`.", metavar="PROPOSAL"
)
_MAKING: Final = (
    option(
        "by",
        "What creates it. auto: a model if one is connected, else built-in rules.",
        metavar="auto|rules|model",
        choices=("auto", "rules", "model"),
    ),
    option("model", "The model to use. Default: the configured one.", metavar="NAME"),
    option(
        "max_usd",
        "Cost limit for models.",
        "--max-usd",
        metavar="USD",
        kind=float,
        low=0.01,
        high=100,
    ),
)
_MODES: Final = (
    option(
        "automatic",
        "Send without asking in this step. STEP:CAPABILITY names one of several actions. "
        "Repeatable.",
        metavar="STEP",
        many=True,
    ),
    option("ask", "Ask each time before this step sends. Repeatable.", metavar="STEP", many=True),
)

_PROPOSALS: Final = (
    Command(
        "proposals list",
        "List open proposals, newest first.",
        "proposals:show_proposals",
        (limit(20, 100, name="most"),),
    ),
    Command(
        "proposals show",
        "Show a proposal: what it does, what it costs, open questions.",
        "proposals:show_proposal",
        (_PROPOSAL,),
        in_process=True,
    ),
    Command(
        "proposals answer",
        "Answer open questions with a value, or the number or text of a choice.",
        "proposals:answer_proposal",
        (
            _PROPOSAL,
            Param("words", "Answers, by question id.", metavar="ID=VALUE...", many=True),
        ),
        in_process=True,
    ),
    Command(
        "proposals refine",
        "Change a proposal by describing the change.",
        "proposals:refine_in_words",
        (
            _PROPOSAL,
            Param("words", "What to change.", metavar="TEXT...", many=True),
            *_MAKING,
        ),
        in_process=True,
    ),
    Command(
        "proposals edit",
        "Set or remove values in the definition of a proposal.",
        "proposals:edit_proposal",
        (
            _PROPOSAL,
            Param(
                "words",
                "Values to set, by JSON pointer.",
                default=None,
                metavar="POINTER=JSON...",
                many=True,
            ),
            option("removed", "Remove this. Repeatable.", "--remove", metavar="POINTER", many=True),
        ),
        in_process=True,
    ),
    Command(
        "proposals approval",
        "Choose which actions are sent automatically and which ask first.",
        "proposals:choose_approval",
        (_PROPOSAL, *_MODES),
        in_process=True,
    ),
    Command(
        "proposals save",
        "Save a proposal as a paused automation, or as the next version of one.",
        "proposal_saving:save_by_options",
        (
            _PROPOSAL,
            option("digest", "The digest of what you have read.", metavar="DIGEST"),
            flag("sure", "Show it and ask once.", "--yes", "-y"),
            option(
                "note",
                "Why it is needed next to an automation that writes to the same place.",
                metavar="WHY",
            ),
            *_MODES,
        ),
        in_process=True,
    ),
    Command(
        "proposals discard",
        "Discard a proposal.",
        "proposals:discard_proposal",
        (_PROPOSAL,),
        in_process=True,
    ),
)

_PROMPT: Final = Param("name", "The name of the prompt.", metavar="NAME")

_PROMPTS: Final = (
    Command("prompts list", "List saved prompts and examples.", "prompts:list_prompts"),
    Command(
        "prompts save",
        "Save a prompt under a name. An existing prompt is replaced.",
        "prompts:save_words",
        (_PROMPT, Param("words", "The prompt.", metavar="TEXT...", many=True)),
    ),
    Command(
        "prompts forget",
        "Delete a saved prompt.",
        "prompts:forget_prompt",
        (_PROMPT,),
    ),
)

COMMANDS: Final = (*_AUTOMATIONS, *_RUNS, *_PROPOSALS, *_PROMPTS)
