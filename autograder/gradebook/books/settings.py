"""nbgrader's settings, with our steps among its own. Used by `nbgrader_config.py` and by our own commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traitlets.config import Config

OURS = "autograder.gradebook.books"
STOCK = "nbgrader.preprocessors"


def configure(config: Config) -> None:
    """Add our steps to nbgrader's own, and put the commands that nbgrader needs on the PATH."""
    from ...lessons import generate_assignment_config
    from .feedback import formgrader_template_paths
    from .gradebook import put_alembic_on_path

    put_alembic_on_path()
    # Not course/: `generate_assignment --force` empties the folder that it releases to.
    config.CourseDirectory.source_directory = "build/source"
    config.CourseDirectory.release_directory = "build/release"
    config.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback", "*.py", "*.md"]
    config.merge(generate_assignment_config(db_url="as the command says"))

    config.Autograde.exporter_class = f"{OURS}.reading.SubmissionExporter"
    config.Autograde.sanitize_preprocessors = [
        f"{OURS}.preprocessors.NormalizeMetadata",
        f"{STOCK}.ClearOutput",
        f"{STOCK}.DeduplicateIds",
        f"{STOCK}.OverwriteKernelspec",
        f"{STOCK}.OverwriteCells",
        f"{STOCK}.CheckCellMetadata",
    ]
    config.Autograde.autograde_preprocessors = [
        f"{OURS}.preprocessors.WriteVerdicts",
        f"{STOCK}.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        f"{STOCK}.LimitOutput",
        f"{STOCK}.SaveAutoGrades",
        f"{OURS}.preprocessors.LeaveUngraded",
        f"{STOCK}.AssignLatePenalties",
        f"{STOCK}.CheckCellMetadata",
    ]
    config.ClearMetadataPreprocessor.preserve_nb_metadata_mask = {("language_info", "name"), "unreadable"}
    config.OverwriteCells.add_missing_cells = True
    config.GenerateFeedback.exporter_class = f"{OURS}.feedback.FeedbackExporter"
    # formgrader makes its pages with a plain HTMLExporter; nbgrader sets its template, we what the template loads.
    config.HTMLExporter.template_paths = formgrader_template_paths()
    config.HTMLExporter.filters = {"markdown2html": f"{OURS}.grading_pages.markdown2html"}
