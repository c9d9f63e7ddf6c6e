"""A run: many submissions side by side, finished records kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from .. import __version__
from ..errors import CourseError
from .grade import Options, canaries, course_sha256, file_sha256, grade_one
from .records import Record, read_record, record_path
from .tasks import Task


def fresh_record(records: Path, task: Task, options: Options, *, any_seed: bool = False) -> Record | None:
    """The stored record, if it is of exactly this file, course and seed."""
    path = record_path(records, task.student, task.day.slug)
    if not path.exists():
        return None
    try:
        record = read_record(path)
    except CourseError:
        return None
    same = (
        record.submission_sha256 == file_sha256(task.path)
        and (record.submission_sha256 or record.problem)
        and record.course_version == __version__
        and record.course_sha256 == course_sha256(task.day)
        and (any_seed or record.seed == options.seed)
        and record.infrastructure is None
    )
    return record if same else None


def grade_all(
    tasks: Iterable[Task],
    options: Options,
    records: Path,
    *,
    resume: bool = False,
    progress: Callable[[int, int, Record], None] | None = None,
) -> list[Record]:
    """Records of all tasks, in the order of the tasks. Canaries of each day go first. resume: keep finished records."""
    wanted = list(tasks)
    results: dict[int, Record] = {}

    def done(index: int, record: Record) -> None:
        results[index] = record
        if progress is not None:
            progress(len(results), len(wanted), record)

    for index, task in enumerate(wanted if resume else []):
        kept = fresh_record(records, task, options)
        if kept is not None:
            done(index, kept)
    left = {index: task for index, task in enumerate(wanted) if index not in results}
    for day in {task.day.slug: task.day for task in left.values()}.values():
        canaries(day, options)
    pool = ThreadPoolExecutor(options.jobs or os.cpu_count() or 1)
    try:
        futures = {pool.submit(grade_one, task, options, records): index for index, task in left.items()}
        for future in as_completed(futures):
            done(futures[future], future.result())
    finally:
        pool.shutdown(cancel_futures=True)
    return [results[index] for index in range(len(wanted))]
