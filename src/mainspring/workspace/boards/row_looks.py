"""How rows are searched and filtered, in the words of capabilities, and their sums in groups."""

from __future__ import annotations

from typing import Final

from mainspring.contracts.capability import Capability
from mainspring.workspace.boards.found_rows import (
    HOW,
    MOST_GROUPS,
    ORDERS,
    PER,
    build_summarize_handler,
)
from mainspring.workspace.boards.looking import LONGEST_WORDS, MOST_FILTERS, OPS
from mainspring.workspace.boards.shapes import (
    BOARD_ID,
    COUNT,
    DATASET,
    FIELD,
    ID,
    NUMBER,
    READS,
    SOME_BOARD,
    JsonSchema,
    object_of,
    schema_with_examples,
)

LOOKS: Final[dict[str, JsonSchema]] = {
    "search": {
        "description": "Only rows that have this in some value, in capitals or not.",
        "type": "string",
        "maxLength": LONGEST_WORDS,
    },
    "filters": {
        "description": "Only rows for which all of these hold. above and below compare numbers; "
        "from and until compare texts, such as dates; empty and filled need no value.",
        "type": "array",
        "maxItems": MOST_FILTERS,
        "items": object_of(
            {
                "field": FIELD,
                "op": {"enum": list(OPS)},
                "value": {"type": ["string", "number"], "maxLength": LONGEST_WORDS},
            },
            ["field", "op"],
        ),
    },
}


def build_summarize_capability() -> Capability:
    group = object_of(
        {
            "value": {"description": "Null: rows without a value.", "type": ["string", "null"]},
            "rows": COUNT,
            "number": {"type": ["number", "null"]},
        },
        ["value", "rows", "number"],
    )
    return Capability(
        id="summarize_board_rows",
        description="Count or add up rows of a board in groups\n\n"
        "One group for each value of a field, as a chart needs it. Values that are no numbers "
        "count as rows and are left out of sums.",
        input_schema=schema_with_examples(
            {
                "board_id": BOARD_ID,
                "dataset": DATASET,
                "by": {"description": "One group for each value of this field.", **FIELD},
                "per": {"description": "Read the values as dates, cut so.", "enum": list(PER)},
                "how": {"enum": list(HOW), "default": "count"},
                "of": {"description": "The field of the numbers; counting needs none.", **FIELD},
                "order": {
                    "description": "By the value, or the largest number first.",
                    "enum": list(ORDERS),
                    "default": "value",
                },
                "limit": {**NUMBER, "maximum": MOST_GROUPS, "default": MOST_GROUPS},
                **LOOKS,
            },
            ["board_id", "by"],
            [
                {"board_id": SOME_BOARD, "by": "state"},
                {"board_id": SOME_BOARD, "by": "due", "per": "month", "how": "sum", "of": "price"},
            ],
            ({"board_id": SOME_BOARD}, "by what?"),
            ({"board_id": SOME_BOARD, "by": "state", "how": "median"}, "no way that is known"),
        ),
        output_schema=schema_with_examples(
            {
                "board_id": ID,
                "dataset": {"type": "string"},
                "groups": {"type": "array", "items": group},
                "of": {"description": "How many groups there are in all.", **COUNT},
            },
            ["board_id", "dataset", "groups", "of"],
            [
                {
                    "board_id": SOME_BOARD,
                    "dataset": "default",
                    "groups": [{"value": "open", "rows": 2, "number": 2}],
                    "of": 1,
                }
            ],
            ({"groups": []}, "of which board?"),
        ),
        handler=build_summarize_handler(),
        annotations=READS,
    )
