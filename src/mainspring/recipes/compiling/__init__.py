"""Compiling a recipe to an ordinary definition, with nothing recipe-specific at run time.

Three formats become one: a definition, a script with grants, and a declarative integration. So an
installed recipe is validated, reviewed, run and rehearsed by the same code as everything else.
"""

from mainspring.recipes.compiling.compiler import compile_automation

__all__ = ["compile_automation"]
