"""The declared commands: their words, their parameters, and the functions that render them.

Each of them sends requests to a server and nothing else. The order inside of a group is the order
of its help.
"""

from __future__ import annotations

from typing import Final

from mainspring.surfaces.cli.declarations import Command, Param, flag, limit, option

_BOARD: Final = Param("board", "A board's name, or its id.", metavar="BOARD")
_DATASET: Final = option(
    "dataset", "One of the board's datasets.", default="default", metavar="NAME"
)
_ROWS: Final = Param(
    "file", "JSON lines, or one JSON array; - reads the standard input.", metavar="FILE"
)
_LINK: Final = Param("link", "The link's id.", metavar="LINK")
_KEY: Final = option("key", "Skip rows whose value of it is there already.", metavar="FIELD")

_BOARDS: Final = (
    Command(
        "boards list",
        "List boards and how many rows they have.",
        "boards:list_boards",
        (flag("archived", "Archived ones too."),),
    ),
    Command(
        "boards show",
        "Show a board and a page of its rows.",
        "boards:show_board",
        (
            _BOARD,
            _DATASET,
            option("offset", "Pass over so many rows.", default=0, low=0),
            option("limit", "Rows at most.", default=20, low=1, high=1_000),
            flag("deleted", "Deleted rows too."),
        ),
    ),
    Command(
        "boards create",
        "Create a board.",
        "boards:create_board",
        (
            Param("name", "What it is called.", metavar="NAME"),
            option("description", "What it is for.", default=""),
            _KEY,
            option("datasets", "Datasets with their columns, as a JSON array.", metavar="FILE"),
        ),
    ),
    Command(
        "boards append",
        "Append rows, 5,000 in a call; a call is taken whole, or not at all.",
        "boards:append_rows",
        (_BOARD, _ROWS, _DATASET, _KEY),
    ),
    Command(
        "boards update",
        "Change rows: each has its row_id and the fields that change.",
        "boards:update_rows",
        (_BOARD, _ROWS, _DATASET),
    ),
    Command(
        "boards delete",
        "Delete rows; they can be restored.",
        "boards:delete_rows",
        (_BOARD, Param("row_ids", "The rows' ids.", metavar="ROW...", many=True), _DATASET),
    ),
    Command(
        "boards restore",
        "Bring deleted rows back, or an archived board.",
        "boards:restore",
        (
            _BOARD,
            Param(
                "row_ids",
                "The rows' ids; none: the archived board.",
                default=None,
                metavar="[ROW...]",
                many=True,
            ),
            _DATASET,
        ),
    ),
    Command(
        "boards export",
        "Write all rows as JSON lines.",
        "boards:export_rows",
        (
            _BOARD,
            Param("out", "Where to; else the standard output.", default=None, metavar="[FILE]"),
            _DATASET,
            flag("whole", "With row_id and what else the server adds."),
        ),
    ),
    Command(
        "boards archive",
        "Take a board out of the list; it can be read and restored.",
        "boards:archive_board",
        (_BOARD,),
    ),
    Command(
        "boards link",
        "Link a board to something outside.",
        "board_links:link_board",
        (
            _BOARD,
            Param("kind", "Such as github, ics or rss.", metavar="KIND"),
            Param(
                "ref",
                "An address, or name=value as in owner=octo.",
                default=None,
                metavar="REF...",
                many=True,
            ),
            option("name", "What the link is called.", default=""),
            option("provider", "Your connection, which must be used then.", metavar="NAME"),
        ),
    ),
    Command(
        "boards links",
        "List what a board is linked to, and how its datasets are filled.",
        "board_links:list_links",
        (_BOARD,),
    ),
    Command(
        "boards fill",
        "Fill a dataset from a link, once now and by a schedule if one is given.",
        "board_links:fill_dataset",
        (
            _LINK,
            Param("dataset", "Made if it is not there.", metavar="DATASET"),
            Param("operation", "Such as github.list_open_prs.", metavar="OPERATION"),
            option(
                "params",
                "An argument of the operation.",
                "--param",
                metavar="NAME=VALUE",
                many=True,
            ),
            option("cron", "Refresh it so, in UTC.", metavar="CRON"),
            option("key", "The field over there that tells rows apart.", metavar="FIELD"),
            option("keep_as", "Where that field is kept.", "--keep-as", metavar="COLUMN"),
        ),
    ),
    Command(
        "boards refresh",
        "Refresh the datasets of a board that are filled from links.",
        "board_links:refresh_board",
        (
            _BOARD,
            Param("dataset", "Only this one; else all of them.", default=None, metavar="[DATASET]"),
        ),
    ),
    Command(
        "boards unlink",
        "Delete a link, or one recipe of it; the rows stay.",
        "board_links:unlink",
        (_LINK, flag("recipe", "The id is a recipe's: the link stays.")),
    ),
)

_FLOW: Final = Param("workflow", "A workflow's title, or its id.", metavar="WORKFLOW")
_FLOW_STATES: Final = ("draft", "active", "paused", "archived")

_WORKFLOWS: Final = (
    Command(
        "workflows list",
        "List workflows and how many automations each has.",
        "workflows:list_workflows",
        (option("status", "Only those that are so.", metavar="STATUS", choices=_FLOW_STATES),),
    ),
    Command(
        "workflows show",
        "Show a workflow: its KPIs against the time, its days, its people, its automations.",
        "workflows:show_workflow",
        (_FLOW,),
    ),
    Command(
        "workflows create",
        "Create a workflow; as a draft it starts nothing.",
        "workflows:create_workflow",
        (
            Param("title", "What it is called.", metavar="TITLE"),
            option("charter", "What it is for.", default=""),
            option(
                "kpis",
                "A number to reach; may be repeated.",
                "--kpi",
                metavar="NAME=TARGET",
                many=True,
            ),
            option(
                "deadlines",
                "As in Beta=2026-12-31.",
                "--deadline",
                metavar="LABEL=DAY",
                many=True,
            ),
            option(
                "templates",
                "An automation to make for it.",
                "--template",
                metavar="NAME",
                choices=("progress_scorer", "task_nudger", "milestone_reviewer"),
                many=True,
            ),
            option("board", "A board that is there; else one is made.", metavar="BOARD"),
            option(
                "status",
                "draft, active or paused.",
                default="draft",
                metavar="STATUS",
                choices=_FLOW_STATES,
            ),
            option("timezone", "Of the templates' hours; else UTC.", metavar="ZONE"),
        ),
    ),
    Command(
        "workflows status",
        "Set a workflow and all its automations going, or at rest.",
        "workflows:set_status",
        (
            _FLOW,
            Param(
                "status",
                "draft, active, paused or archived.",
                metavar="STATUS",
                choices=_FLOW_STATES,
            ),
        ),
    ),
    Command(
        "workflows delete",
        "Delete a workflow and archive its automations; its board stays.",
        "workflows:delete_workflow",
        (_FLOW, flag("board", "Archive its board too.")),
    ),
    Command(
        "workflows kpi set",
        "Say what a KPI is now.",
        "workflows:set_kpi",
        (
            _FLOW,
            Param("name", "The KPI.", metavar="NAME"),
            Param("value", "What it is now.", metavar="NUMBER"),
        ),
    ),
)

_PAGE: Final = Param("page", "A page's slug, or its id.", metavar="PAGE")
_SOUGHT: Final = Param("words", "What to look for.", metavar="WORDS...", many=True)
_TYPE: Final = option("kind", "Only pages of this type.", "--type")

_PAGES: Final = (
    Command(
        "pages list",
        "List pages, the last to come in first.",
        "pages:list_pages",
        (_TYPE, limit(50, 100)),
    ),
    Command(
        "pages show",
        "Show a page: its text, its values, and what happened to it.",
        "pages:show_page",
        (_PAGE, flag("raw", "The whole text alone, as `add` takes it.")),
    ),
    Command(
        "pages add",
        "Write a page from a text; the same page again is changed, never doubled.",
        "pages:add_page",
        (
            Param("file", "Markdown with front matter, or - for a pipe.", metavar="FILE"),
            option("slug", "Its name; default: from the title."),
            option("kind", "Its type, where the text says none: note.", "--type"),
            option("title", "Its title, where the text has none."),
        ),
    ),
    Command(
        "pages search",
        'Search pages by words; "a phrase", OR and, after --, -without are understood.',
        "pages:search_pages",
        (_SOUGHT, _TYPE, limit(20, 100)),
    ),
    Command(
        "pages query",
        "Ask for pages by words, by likeness and, where a model is set, by meaning.",
        "pages:query_pages",
        (_SOUGHT, _TYPE, limit(20, 100)),
    ),
    Command(
        "pages delete",
        "Delete a page; writing it again, or restoring it, brings it back.",
        "pages:delete_page",
        (_PAGE,),
    ),
    Command("pages restore", "Bring a deleted page back.", "pages:restore_page", (_PAGE,)),
)

_AUTOMATIONS: Final = (
    Command(
        "list",
        "List automations: state, last run, next moment, failures in a row.",
        "listings:show_list",
        (
            option(
                "state",
                "Only those in this state; else not archived.",
                choices=("active", "paused", "archived"),
            ),
            option("search", "Only those with this in their name.", metavar="TEXT"),
            limit(100),
        ),
    ),
    Command(
        "runs",
        "List runs, the newest first; `runs watch` follows one, `runs output` shows what it said.",
        "listings:show_runs",
        (
            option(
                "status",
                "Only runs in this status.",
                choices=(
                    *("pending", "running", "waiting", "succeeded", "failed", "cancelled"),
                    *("timed_out", "skipped", "dead"),
                ),
            ),
            option("automation", "Only runs of this automation: its name or its id."),
            limit(20),
        ),
    ),
)

_OPERATING: Final = (
    Command(
        "audit",
        "Show what was done and by whom, the newest first.",
        "audit:show_audit",
        (
            option("action", "Only this action."),
            option("actor", "Only of this member, by email or id, or of a run.", metavar="WHO"),
            option("since", "Only from this moment on.", metavar="TIME"),
            option("before", "Only before this moment.", metavar="TIME"),
            limit(20),
        ),
    ),
    Command(
        "usage",
        "Show what models were asked and what they cost; without days, the last thirty.",
        "ledger:show_usage",
        (
            option(
                "by",
                "What the sums are by.",
                default="day",
                metavar="day|automation|model|caller",
                choices=("day", "automation", "model", "caller"),
            ),
            option("first", "The first day, in UTC.", "--from", metavar="DAY"),
            option("last", "The last day; left out: today.", "--to", metavar="DAY"),
            flag("calls", "Single asks, the newest first."),
            limit(20),
        ),
    ),
)

_SECRET_OWNER: Final = (
    option("owner", "The member whose secrets are meant, by email or id.", metavar="WHO"),
    flag("publisher", "What the workspace publishes with; names in capitals."),
)

_PEOPLE: Final = (
    Command(
        "secrets list",
        "List the names of secrets, never their values.",
        "secrets:list_secrets",
        _SECRET_OWNER,
    ),
    Command(
        "secrets delete",
        "Forget a secret.",
        "secrets:delete_secret",
        (Param("name", "Small letters, digits and _.", metavar="NAME"), *_SECRET_OWNER),
    ),
    Command("tokens list", "List tokens, never their texts.", "tokens:show_tokens"),
)

COMMANDS: Final = (*_AUTOMATIONS, *_BOARDS, *_WORKFLOWS, *_PAGES, *_OPERATING, *_PEOPLE)
