"""Templates that only hand values on: paths in braces, and the texts between them.

Whoever must know where something goes can read such a template at a glance. One that chooses,
joins, replaces, has a text inside its braces or a comment can show one thing and make another.
"""

from __future__ import annotations

from jinja2 import nodes

from mainspring.definition.templates.tokens import read_template
from mainspring.definition.templates.tree import walk

_PLAIN = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Getattr,
    nodes.Getitem,
    nodes.Const,
    nodes.Filter,
)


def split_plain_template(source: str) -> tuple[str, ...] | None:
    """The texts around the values that a template hands on; None when it does more than that.

    The source is one that ``parse_template`` takes.
    """
    if "{%" in source or "{#" in source:
        return None
    tree = read_template(source)
    if not _hands_on(tree):
        return None
    texts = [""]
    for one in tree.body:
        for part in one.nodes if isinstance(one, nodes.Output) else [one]:
            if isinstance(part, nodes.TemplateData):
                texts[-1] += part.data
            else:
                texts.append("")
    return tuple(texts)


def _hands_on(tree: nodes.Template) -> bool:
    """Whether every expression is a path, with filters that add nothing to what is there."""
    found = list(walk(tree))
    # A constant may pick a part of a value and may be no value itself, unless it is nothing.
    picks = {id(node.arg) for node in found if isinstance(node, nodes.Getitem)}
    return all(
        isinstance(node, _PLAIN)
        and not (isinstance(node, nodes.Const) and node.value and id(node) not in picks)
        and not (isinstance(node, nodes.Filter) and _is_told(node))
        for node in found
    )


def _is_told(node: nodes.Filter) -> bool:
    """Whether a filter is given more than another value for one that is missing."""
    return bool(node.kwargs or (node.args and node.name != "default"))
