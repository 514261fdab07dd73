"""How long work reports how far it is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]
"""Called with a stage, and how much of it is done of how much in total."""
Advance = Callable[[int, int], None]
"""Called with how much is done of how much in total, within one stage."""
TrainingProgress = Callable[[int, int, float], None]
"""Called with the steps done, their total, and the loss."""
Notify = Callable[[str], None]
"""Called with a sentence for the people who run a job."""


@contextmanager
def progress_bar(shown: bool) -> Iterator[Progress]:
    """Yield what long work reports to: a bar on standard error, or nothing."""
    if not shown:
        yield lambda stage, done, total: None
        return
    from comity.core.stages import Stages

    with Stages() as stages:
        yield stages
