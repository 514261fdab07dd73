"""The Flower server app, which runs at the coordinator."""

from functools import partial

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from comity.core.wording import Caller, speaking_to
from comity.errors import ComityError
from comity.flower.coordinator import Job, coordinate
from comity.flower.preflight import check

app = ServerApp()
_notify = partial(print, "comity:", flush=True)


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the job that the run's configuration describes, or check that it can run."""
    try:
        job = Job.read(context.run_config)
        with speaking_to(Caller.FILE):  # settings are those of study.toml
            if job.mode == "check":
                check(grid, job.roster, job.study, job.patience, _notify)
            else:
                coordinate(grid, job, _notify)
    except ComityError as error:
        raise error.with_traceback(None) from None  # Flower logs tracebacks, and the input is wrong, not the code
