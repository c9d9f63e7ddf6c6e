"""nbgrader's ClearSolutions, with stubs that name their exercise. Only modules that use nbgrader anyway import this one."""

from __future__ import annotations

from nbformat import NotebookNode
from nbgrader.preprocessors import ClearSolutions

from autograder.lessons import marks


class ClearAnswers(ClearSolutions):
    """A ClearSolutions whose stubs name their exercise, as in `raise NotImplementedError("KVCache.append")`; nbgrader's are all alike.

    The checks of the stock preprocessor, such as the one for answers outside solution cells, still run.
    """

    def _replace_solution_region(self, cell: NotebookNode, language: str) -> bool:
        if cell.cell_type != "code" or marks.BEGIN not in cell.source:
            return super()._replace_solution_region(cell, language)
        cell.source = marks.without_answers(cell.source)
        return True
