"""The reader's version of an executed notebook: stubs with folded answers, outputs without a kernel, descriptions of pictures."""

from __future__ import annotations

import copy
import html
from typing import TYPE_CHECKING, Any

from autograder.lessons import Day, marks, source_notebook

from . import playground, wrong_versions
from .first_steps import with_first_steps

if TYPE_CHECKING:
    from nbformat import NotebookNode

ALT_END = " ¶ "
"""The separator between the descriptions of several plots of one cell."""
WIDGET = "application/vnd.jupyter.widget-view+json"
STATES = "application/vnd.jupyter.widget-state+json"
SETUP_SHOWN = "Setup: what this notebook imports"
SETUP_HIDDEN = "Hide the setup"
ANSWER = "One way to write it"
IN_THE_LESSON = "On this page a script computes the drawing, by the same rules. In JupyterLab the sliders run your own functions."
NEEDS_KERNEL = "A still picture. In JupyterLab, where a kernel runs, the sliders move."


def reading_notebook(day: Day, ran: NotebookNode, *, answers: bool, note: str) -> NotebookNode:
    """Return the notebook for Sphinx. note: Markdown to put under the title. answers: whether the notebook contains the answers."""
    from nbformat import v4

    sources = {
        cell.metadata["course"]["exercise"]: cell.source
        for cell in source_notebook(day).cells
        if cell.metadata["course"]["role"] == "exercise"
    }
    models = ran.metadata.get("widgets", {}).get(STATES, {}).get("state", {})
    wrong = wrong_versions.chosen(day) if answers else None
    cells = []
    for cell in ran.cells:
        role = cell.metadata["course"]["role"]
        if role == "text":
            cells.append(v4.new_markdown_cell(cell.source, id=cell.id))
        elif role == "exercise":
            name = cell.metadata["course"]["exercise"]
            text = f"{anchor(day, name)}\n\n{exercise_text(sources[name], answers)}"
            cells.append(v4.new_markdown_cell(text, id=cell.id))
        else:
            metadata: dict[str, Any] = {"tags": ["hide-input"]} if role == "setup" else {}
            outputs = joined([shown for output in cell.outputs if (shown := still(output, models)) is not None])
            if alt := ALT_END.join(filter(None, map(_alt, outputs))):
                metadata["mystnb"] = {"image": {"alt": alt}}
            if role == "setup":
                metadata["mystnb"] = {"code_prompt_show": SETUP_SHOWN, "code_prompt_hide": SETUP_HIDDEN}
            cells.append(v4.new_code_cell(cell.source, id=cell.id, outputs=outputs, metadata=metadata))
        if wrong and role == "check" and cell.metadata["course"]["exercise"] == wrong["exercise"]:
            cells.append(v4.new_markdown_cell(wrong_versions.fold(wrong), id=f"{cell.id[:40]}-wrong"))
    cells[0].source = under_title(cells[0].source, note)
    return v4.new_notebook(cells=cells, metadata={"kernelspec": ran.metadata.kernelspec, "language_info": ran.metadata.language_info})


def anchor(day: Day, exercise: str) -> str:
    """Return a link target and an index entry for a function. The site's search ranks index entries first."""
    return f"({label(day, exercise)})=\n```{{index}} ! single: {exercise}\n```"


def label(day: Day, exercise: str) -> str:
    return f"exercise-{day.topic}-{exercise}".lower().replace("_", "-")


def exercise_text(source: str, answers: bool) -> str:
    """Return the stub as students get it and, if answers are wanted, the course's own solution, folded."""
    text = f"```python\n{marks.without_answers(source)}\n```"
    if answers:
        solution = marks.without_marks(source)
        text += f'\n\n<details class="answer"><summary>{ANSWER}</summary>\n\n```python\n{solution}\n```\n\n</details>'
    return text


def under_title(text: str, note: str) -> str:
    """Insert the note after the title and the line about minutes and difficulty."""
    lines = text.split("\n")
    facts = next(number for number, line in enumerate(lines) if " minutes · " in line)
    return "\n".join([*lines[: facts + 1], "", note, *lines[facts + 1 :]])


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Return the outputs with consecutive printed texts joined. All other outputs keep their place."""
    merged: list[NotebookNode] = []
    for output in outputs:
        if merged and output.output_type == merged[-1].output_type == "stream":
            merged[-1] = copy.deepcopy(merged[-1])
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def still(output: NotebookNode, models: dict[str, Any]) -> NotebookNode | None:
    """Return the output without parts that need a kernel: a widget becomes a picture, and a progress bar is removed."""
    if output.output_type == "stream":
        return None if output.name == "stderr" else output
    data = output.get("data", {})
    if WIDGET not in data:
        return with_figure_drawn(output)
    picture = _picture(data[WIDGET]["model_id"], models)
    if picture is None:
        return None
    changed = copy.deepcopy(output)
    changed.data = {"text/html": f'<div class="still">{picture}<p class="needs-kernel">{NEEDS_KERNEL}</p></div>'}
    if "sampler-playground" in models[data[WIDGET]["model_id"]]["state"].get("_dom_classes", ()):
        changed.data["text/html"] = playground.figure(IN_THE_LESSON)
    return changed


def with_figure_drawn(output: NotebookNode) -> NotebookNode:
    if "course-stepper" not in output.get("data", {}).get("text/html", ""):
        return output
    changed = copy.deepcopy(output)
    changed.data["text/html"] = with_first_steps(changed.data["text/html"])
    return changed


def _picture(model: str, models: dict[str, Any]) -> str | None:
    """Return HTML of a widget as it was when the notebook ended; None for a progress bar."""
    name, state = models[model]["model_name"], models[model]["state"]
    if name in ("VBoxModel", "HBoxModel"):
        children = [_picture(child.removeprefix("IPY_MODEL_"), models) for child in state["children"]]
        return None if None in children else "".join(filter(None, children))
    if name == "HTMLModel":
        return str(state["value"])
    if name.endswith("ProgressModel"):
        return None
    if name.endswith("SliderModel"):
        options = state.get("_options_labels")
        value = options[state["index"]] if options else f"{state['value']:g}"
        return f'<div class="still-slider">{html.escape(state["description"])}: <b>{html.escape(value)}</b></div>'
    return ""


def _alt(output: NotebookNode) -> str:
    return str(output.get("metadata", {}).get("image/png", {}).get("alt", ""))
