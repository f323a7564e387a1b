"""Commands about boards, workflows and pages."""

from __future__ import annotations

from typing import Final

from mainspring.surfaces.cli.declarations import Command, Param, flag, limit, option

_BOARD: Final = Param("board", "A board's name or id.", metavar="BOARD")
_DATASET: Final = option("dataset", "A dataset of the board.", default="default", metavar="NAME")
_ROWS: Final = Param(
    "file", "JSON Lines or one JSON array; - reads standard input.", metavar="FILE"
)
_LINK: Final = Param("link", "The link's id.", metavar="LINK")
_KEY: Final = option("key", "Skip rows whose value in this field already exists.", metavar="FIELD")

_BOARDS: Final = (
    Command(
        "boards list",
        "List boards with their row counts.",
        "boards:list_boards",
        (flag("archived", "Include archived boards."),),
    ),
    Command(
        "boards show",
        "Show a board and a page of its rows.",
        "boards:show_board",
        (
            _BOARD,
            _DATASET,
            option("offset", "Skip this many rows.", default=0, low=0),
            option("limit", "Maximum number of rows.", default=20, low=1, high=1_000),
            flag("deleted", "Include deleted rows."),
        ),
    ),
    Command(
        "boards create",
        "Create a board.",
        "boards:create_board",
        (
            Param("name", "The name.", metavar="NAME"),
            option("description", "The description.", default=""),
            _KEY,
            option("datasets", "Datasets with their columns, as a JSON array.", metavar="FILE"),
        ),
    ),
    Command(
        "boards append",
        "Append rows, in batches of 5,000. Each batch is stored completely or not at all.",
        "boards:append_rows",
        (_BOARD, _ROWS, _DATASET, _KEY),
    ),
    Command(
        "boards update",
        "Update rows. Each row has its row_id and the fields to change.",
        "boards:update_rows",
        (_BOARD, _ROWS, _DATASET),
    ),
    Command(
        "boards delete",
        "Delete rows. You can restore them.",
        "boards:delete_rows",
        (_BOARD, Param("row_ids", "Row ids.", metavar="ROW...", many=True), _DATASET),
    ),
    Command(
        "boards restore",
        "Restore deleted rows, or an archived board.",
        "boards:restore",
        (
            _BOARD,
            Param(
                "row_ids",
                "Row ids. Without them, the archived board is restored.",
                default=None,
                metavar="[ROW...]",
                many=True,
            ),
            _DATASET,
        ),
    ),
    Command(
        "boards export",
        "Export all rows as JSON Lines.",
        "boards:export_rows",
        (
            _BOARD,
            Param("out", "Output file. Default: standard output.", default=None, metavar="[FILE]"),
            _DATASET,
            flag("whole", "Include row_id and the other fields that the server adds."),
        ),
    ),
    Command(
        "boards archive",
        "Archive a board. You can still read and restore it.",
        "boards:archive_board",
        (_BOARD,),
    ),
    Command(
        "boards link",
        "Link a board to an external source.",
        "board_links:link_board",
        (
            _BOARD,
            Param("kind", "For example github, ics or rss.", metavar="KIND"),
            Param(
                "ref",
                "A URL, or NAME=VALUE such as owner=octo.",
                default=None,
                metavar="REF...",
                many=True,
            ),
            option("name", "Name of the link.", default=""),
            option("provider", "Use this connection.", metavar="NAME"),
        ),
    ),
    Command(
        "boards links",
        "List the links of a board and how they fill its datasets.",
        "board_links:list_links",
        (_BOARD,),
    ),
    Command(
        "boards fill",
        "Fill a dataset from a link, now and on an optional schedule.",
        "board_links:fill_dataset",
        (
            _LINK,
            Param("dataset", "The dataset. Created if it does not exist.", metavar="DATASET"),
            Param("operation", "For example github.list_open_prs.", metavar="OPERATION"),
            option(
                "params",
                "An argument of the operation. Repeatable.",
                "--param",
                metavar="NAME=VALUE",
                many=True,
            ),
            option("cron", "Refresh schedule as a cron expression in UTC.", metavar="CRON"),
            option("key", "The source field that identifies a row.", metavar="FIELD"),
            option("keep_as", "Column that stores the key field.", "--keep-as", metavar="COLUMN"),
        ),
    ),
    Command(
        "boards refresh",
        "Refresh the datasets of a board that are filled from links.",
        "board_links:refresh_board",
        (
            _BOARD,
            Param("dataset", "Only this dataset. Default: all.", default=None, metavar="[DATASET]"),
        ),
    ),
    Command(
        "boards unlink",
        "Delete a link, or one of its recipes. Rows are kept.",
        "board_links:unlink",
        (_LINK, flag("recipe", "LINK is the id of a recipe. The link is kept.")),
    ),
)

_FLOW: Final = Param("workflow", "A workflow's title or id.", metavar="WORKFLOW")
_FLOW_STATES: Final = ("draft", "active", "paused", "archived")

_WORKFLOWS: Final = (
    Command(
        "workflows list",
        "List workflows with the number of their automations.",
        "workflows:list_workflows",
        (
            option(
                "status", "Only workflows with this status.", metavar="STATUS", choices=_FLOW_STATES
            ),
        ),
    ),
    Command(
        "workflows show",
        "Show a workflow: KPIs, deadlines, people and automations.",
        "workflows:show_workflow",
        (_FLOW,),
    ),
    Command(
        "workflows create",
        "Create a workflow. A draft starts no automations.",
        "workflows:create_workflow",
        (
            Param("title", "The name.", metavar="TITLE"),
            option("charter", "The description.", default=""),
            option(
                "kpis",
                "A KPI and its target. Repeatable.",
                "--kpi",
                metavar="NAME=TARGET",
                many=True,
            ),
            option(
                "deadlines",
                "For example Beta=2026-12-31. Repeatable.",
                "--deadline",
                metavar="LABEL=DAY",
                many=True,
            ),
            option(
                "templates",
                "Create an automation from this template. Repeatable.",
                "--template",
                metavar="NAME",
                choices=("progress_scorer", "task_nudger", "milestone_reviewer"),
                many=True,
            ),
            option("board", "Use this board. Default: create one.", metavar="BOARD"),
            option(
                "status",
                "draft, active or paused.",
                default="draft",
                metavar="STATUS",
                choices=_FLOW_STATES,
            ),
            option(
                "timezone", "Time zone of the templates' schedules. Default: UTC.", metavar="ZONE"
            ),
        ),
    ),
    Command(
        "workflows status",
        "Set the status of a workflow and all its automations.",
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
        "Delete a workflow and archive its automations. Its board is kept.",
        "workflows:delete_workflow",
        (_FLOW, flag("board", "Also archive its board.")),
    ),
    Command(
        "workflows kpi set",
        "Set the current value of a KPI.",
        "workflows:set_kpi",
        (
            _FLOW,
            Param("name", "The KPI.", metavar="NAME"),
            Param("value", "The current value.", metavar="NUMBER"),
        ),
    ),
)

_PAGE: Final = Param("page", "A page's slug or id.", metavar="PAGE")
_SOUGHT: Final = Param("words", "Search terms.", metavar="WORDS...", many=True)
_TYPE: Final = option("kind", "Only pages of this type.", "--type")

_PAGES: Final = (
    Command(
        "pages list",
        "List pages, newest first.",
        "pages:list_pages",
        (_TYPE, limit(50, 100)),
    ),
    Command(
        "pages show",
        "Show a page: text, properties and history.",
        "pages:show_page",
        (_PAGE, flag("raw", "Print only the source text, as `pages add` reads it.")),
    ),
    Command(
        "pages add",
        "Create or update a page from a Markdown file.",
        "pages:add_page",
        (
            Param("file", "Markdown with front matter; - reads standard input.", metavar="FILE"),
            option("slug", "The slug. Default: derived from the title."),
            option("kind", "Page type, if the text does not set it. Default: note.", "--type"),
            option("title", "Title, if the text does not set it."),
        ),
    ),
    Command(
        "pages search",
        'Search pages by keywords. Supports "phrases", OR and, after --, -exclusions.',
        "pages:search_pages",
        (_SOUGHT, _TYPE, limit(20, 100)),
    ),
    Command(
        "pages query",
        "Search pages by keywords, similarity and, with an embedding model, meaning.",
        "pages:query_pages",
        (_SOUGHT, _TYPE, limit(20, 100)),
    ),
    Command(
        "pages delete",
        "Delete a page. You can restore it.",
        "pages:delete_page",
        (_PAGE,),
    ),
    Command("pages restore", "Restore a deleted page.", "pages:restore_page", (_PAGE,)),
)

COMMANDS: Final = (*_BOARDS, *_WORKFLOWS, *_PAGES)
