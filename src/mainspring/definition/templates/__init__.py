"""Templates: text that a person approved, filled with what a run has come to know.

The syntax is Jinja's; the engine is ours. Jinja2 lexes and parses, and nothing more:
``tokens`` reads the source within bounds, ``grammar`` lets through only what it lists,
``references`` says which values are read, ``expressions`` and ``statements`` turn the
tree into closures over plain data, and ``meter`` charges every one of them before it
works. So no Python is generated, no attribute of an object is read and nothing can be
called; a template can only look at the data it is handed, and only for so long.

``template`` and ``config`` are what other rooms use; ``scope`` builds the names.
"""

from __future__ import annotations

from mainspring.definition.templates.config import CompiledConfig, compile_config
from mainspring.definition.templates.filters import FILTERS
from mainspring.definition.templates.grammar import TESTS
from mainspring.definition.templates.parser import has_syntax
from mainspring.definition.templates.references import TemplateReference
from mainspring.definition.templates.scope import (
    RESERVED,
    RunFacts,
    RunFailure,
    TemplateScope,
    build_run_context,
)
from mainspring.definition.templates.template import (
    Predicate,
    Template,
    evaluate_predicate,
    parse_predicate,
    parse_template,
    render_template,
)

__all__ = [
    "FILTERS",
    "RESERVED",
    "TESTS",
    "CompiledConfig",
    "Predicate",
    "RunFacts",
    "RunFailure",
    "Template",
    "TemplateReference",
    "TemplateScope",
    "build_run_context",
    "compile_config",
    "evaluate_predicate",
    "has_syntax",
    "parse_predicate",
    "parse_template",
    "render_template",
]
