"""Templates: text with expressions, rendered with the data of a run.

The syntax is Jinja's; the engine is ours. Jinja2 only lexes and parses: ``parser`` reads the source
within limits, ``grammar`` is the allowlist of syntax, ``references`` finds which values are read,
``expressions`` and ``template`` compile the tree to closures over plain data, and ``render_state``
meters their work in advance. No Python is generated, no attribute of an object is read and nothing
can be called; a template can only read the data it is given, for a limited time.

Other packages use ``template`` and ``config``; ``scope`` builds the names.
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
