"""What pages with trainings share: commands for the visitor's latest training, and sentences about trainings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attnviz.runtime.long_work import LongWorkError
from attnviz.training.jobs.jobs import Job
from attnviz.training.jobs.view import View
from attnviz.training.plan import TooLargeError
from attnviz.ui.trained_models import visitor
from attnviz.ui.training_jobs import training_jobs

IsOfPage = Callable[[Job], bool]
"""Whether a training belongs to a page; a page leaves all others alone"""


def latest(is_of_page: IsOfPage) -> Job | None:
    """Return the visitor's latest training, if it belongs to the page."""
    job = training_jobs().job(visitor())
    return job if job is not None and is_of_page(job) else None


def is_training(is_of_page: IsOfPage = lambda _: True) -> bool:
    """Whether the visitor's latest training is running or waiting, and belongs to the page."""
    job = latest(is_of_page)
    return job is not None and job.view.is_live


def stop(is_of_page: IsOfPage) -> None:
    """Stop the visitor's training, if it belongs to the page; `go_on` continues it."""
    if latest(is_of_page):
        training_jobs().stop(visitor())


def go_on(is_of_page: IsOfPage) -> None:
    """Continue the visitor's stopped training, if it belongs to the page."""
    if latest(is_of_page):
        training_jobs().go_on(visitor())


@contextmanager
def refusing(keep: Callable[[str], None]) -> Iterator[None]:
    """Catch the errors of a training that can't be started, and keep the reason as a sentence."""
    try:
        yield
    except (TooLargeError, LongWorkError) as error:
        keep(str(error))
    except ValueError as error:
        keep(f"This can't be trained: {str(error).removesuffix('.')}.")


def queued(view: View) -> str:
    """Describe a queued training's place in line."""
    if view.place <= 1:
        return "Next in line: it starts as soon as another training on this server ends."
    return f"Waiting: number {view.place} in line for a processor of this server."
