"""nbgrader's ClearSolutions with a stub that names its exercise. Imported only where nbgrader is at work anyway."""

from __future__ import annotations

from nbformat import NotebookNode
from nbgrader.preprocessors import ClearSolutions

from autograder.lessons import marks


class ClearAnswers(ClearSolutions):
    """Writes `raise NotImplementedError("KVCache.append")` where nbgrader would write the same stub everywhere.

    Whatever else the stock preprocessor checks (answers outside solution cells, say), it checks here as well.
    """

    def _replace_solution_region(self, cell: NotebookNode, language: str) -> bool:
        if cell.cell_type != "code" or marks.BEGIN not in cell.source:
            return super()._replace_solution_region(cell, language)
        cell.source = marks.without_answers(cell.source)
        return True
