"""Commands about automations, their versions, runs and proposals."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mainspring.surfaces.cli.declarations import Command, Param, flag, limit, option

_AUTOMATION: Final = Param(
    "text", "An automation's name, its id, or the id's first characters.", metavar="AUTOMATION"
)

_AUTOMATIONS: Final = (
    Command(
        "save",
        "Save a definition as a new, paused automation, or as a new version.",
        "automations:save_file",
        (
            Param("file", "A definition; - reads standard input.", metavar="FILE"),
            option(
                "to",
                "Save it as the next version of this automation. It can be renamed.",
                metavar="AUTOMATION",
            ),
        ),
    ),
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
    Command(
        "rollback",
        "Restore an earlier version as a new version.",
        "automations:go_back",
        (
            _AUTOMATION,
            Param("version", "The number of a version.", kind=int, metavar="VERSION", low=1),
        ),
    ),
)

_SLUG: Final = Param(
    "slug",
    "The id of the trigger, if there are several webhooks.",
    default=None,
    metavar="TRIGGER",
)

_WEBHOOKS: Final = (
    Command(
        "webhook token",
        "Create a webhook token and print it once. The previous token stops working.",
        "webhooks:make_token",
        (
            _AUTOMATION,
            _SLUG,
            flag("sure", "Replace an existing token without asking.", "--yes", "-y"),
            option(
                "overlap",
                "Keep the previous token working for this long.",
                default=0,
                metavar="SECONDS",
                low=0,
                high=604_800,
            ),
        ),
    ),
    Command(
        "webhook revoke", "Revoke a webhook token.", "webhooks:end_token", (_AUTOMATION, _SLUG)
    ),
    Command(
        "webhook test",
        "Send a sample request with a valid signature. It starts a real run.",
        "webhook_samples:send_webhook_sample",
        (
            _AUTOMATION,
            _SLUG,
            option(
                "provider",
                "The sender, such as github or stripe.",
                "--as",
                metavar="PROVIDER",
            ),
            option(
                "event",
                "The name of the event, such as push.",
                default="test",
                metavar="EVENT",
            ),
        ),
        in_process=True,
    ),
)

_RUN: Final = Param("text", "A run's id, its first characters, or `last`.", metavar="RUN")
_FOLLOW: Final = flag(
    "follow", "Follow until the run ends. Ctrl-C stops following only.", "--follow", "-f"
)

_INPUTS: Final = option("inputs", "All inputs as one JSON object.", metavar="JSON")
_WAIT: Final = flag("wait", "Wait until the run ends.")
_SECONDS: Final = option(
    "seconds",
    "Stop waiting after this time. The run continues on a worker.",
    "--timeout",
    kind=float,
    low=0.1,
    metavar="SECONDS",
)

_RUNS: Final = (
    Command(
        "fire",
        "Run an automation now on a worker, even if it is paused.\n\n"
        "With --wait, the exit code reports the result. Ctrl-C stops waiting; `cancel` ends the "
        "run.",
        "fire:fire_by_options",
        (
            _AUTOMATION,
            option("words", "One input. Repeatable.", "--input", metavar="NAME=VALUE", many=True),
            _INPUTS,
            option(
                "payload",
                "Payload of the trigger, as a webhook or an event would send it.",
                metavar="JSON",
            ),
            flag("dry_run", "Dry run: simulate calls that change something.", "--dry-run"),
            flag(
                "verify",
                "Send nothing to external systems. Data of the workspace is written.",
            ),
            _WAIT,
            _SECONDS,
        ),
    ),
    Command(
        "replay",
        "Start a new run with the inputs of an earlier run.",
        "fire:replay_run",
        (
            _RUN,
            option(
                "version",
                "The original version, or the current one.",
                default="same",
                choices=("same", "active"),
            ),
            option("whole", "Different inputs, as a JSON object.", "--inputs", metavar="JSON"),
            _WAIT,
            _SECONDS,
        ),
    ),
    Command(
        "runs output",
        "Show the output of a run's steps: stdout and stderr, in order.",
        "runs_output:show_output_by_options",
        (
            _RUN,
            option("step", "Only the output of this step."),
            _FOLLOW,
            flag("stderr", "Only stderr. Default: stdout and stderr."),
        ),
    ),
    Command(
        "runs watch",
        "Follow a run from its first step to its end.\n\n"
        "The exit code reports the result. Ctrl-C stops following; `cancel` ends the run.",
        "fire:watch_run",
        (_RUN, _SECONDS),
    ),
    Command(
        "runs transcript",
        "Show the conversation of a run's agents: messages, calls and cost.",
        "transcripts:show_transcript",
        (
            _RUN,
            Param("step", "Only the agents of this step.", default=None, metavar="[STEP]"),
        ),
        in_process=True,
    ),
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

_ZONE: Final = option(
    "timezone",
    "Time zone, if the text names none. Default: the one of this machine.",
    metavar="ZONE",
)
_ENDS: Final = (
    option("answers", "Answer a question. Repeatable.", "--answer", metavar="ID=VALUE", many=True),
    flag("save", "Save it if no question is open."),
    option(
        "output",
        "Write the definition to this file instead of saving it.",
        "--output",
        "-o",
        metavar="FILE",
    ),
)

_AUTHORING: Final = (
    Command(
        "new",
        "Create an automation from a description.\n\n"
        "You see a proposal with its steps and cost, answer open questions and save it. Nothing "
        "is saved before you agree. A new automation is paused. Without text, examples are listed.",
        "new:propose_by_options",
        (
            Param(
                "words",
                "What to automate, and when.",
                default=None,
                metavar="WORDS",
                many=True,
            ),
            _ZONE,
            *_MAKING,
            *_ENDS,
        ),
    ),
    Command(
        "change",
        "Change an automation by describing the change, and save a new version.",
        "new:propose_by_options",
        (
            replace(_AUTOMATION, name="automation"),
            Param("words", "What to change.", metavar="WORDS...", many=True),
            _ZONE,
            *_MAKING,
            *_ENDS,
        ),
    ),
    Command(
        "review",
        "Review an automation or a file: what it does, costs and accesses.",
        "review:review_by_options",
        (
            Param(
                "what",
                "An automation, or a definition file (.json or .ts).",
                metavar="AUTOMATION|FILE",
            ),
            option("to", "Compare the file with this automation.", metavar="AUTOMATION"),
            *_MODES,
            *_MAKING,
        ),
    ),
)

_CAPABILITIES: Final = (
    Command(
        "capabilities",
        "List capabilities, or show the input and output of one.",
        "capabilities:show_capabilities",
        (
            Param(
                "name", "Only this capability, with its schemas.", default=None, metavar="[NAME]"
            ),
            flag(
                "everything",
                "Include capabilities that only steps of automations can call.",
                "--all",
            ),
        ),
    ),
    Command(
        "call",
        "Call a capability as the owner, or as the holder of MAINSPRING_TOKEN.",
        "capabilities:call_by_words",
        (
            Param("name", "The name of the capability.", metavar="CAPABILITY"),
            Param(
                "arguments",
                "Its arguments; - reads standard input.",
                default=None,
                metavar="[JSON|-]",
            ),
        ),
    ),
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
    ),
    Command(
        "proposals answer",
        "Answer open questions with a value, or the number or text of a choice.",
        "proposals:answer_proposal",
        (
            _PROPOSAL,
            Param("words", "Answers, by question id.", metavar="ID=VALUE...", many=True),
        ),
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
    ),
    Command(
        "proposals approval",
        "Choose which actions are sent automatically and which ask first.",
        "proposals:choose_approval",
        (_PROPOSAL, *_MODES),
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
    ),
    Command(
        "proposals discard",
        "Discard a proposal.",
        "proposals:discard_proposal",
        (_PROPOSAL,),
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

COMMANDS: Final = (
    *_AUTOMATIONS,
    *_WEBHOOKS,
    *_RUNS,
    *_AUTHORING,
    *_CAPABILITIES,
    *_PROPOSALS,
    *_PROMPTS,
)
