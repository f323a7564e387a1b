"""What a recipe says, as an ordinary definition: nothing of a recipe is left at run time.

Three ways to write an automation become one: a definition as it stands, a script with its
grants, and a declarative integration. So an installed recipe is judged, reviewed, run and
rehearsed by the very code that does so for everything else.
"""

from mainspring.recipes.compiling.compiler import compile_automation

__all__ = ["compile_automation"]
