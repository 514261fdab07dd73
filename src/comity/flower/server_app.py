"""The server app, at the coordinator."""

from __future__ import annotations

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from comity.errors import ComityError
from comity.flower.checking import check
from comity.flower.coordinator import Job, coordinate

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Do the job that the run's configuration describes, or check that everything fits."""
    try:
        job = Job.read(context.run_config)
        if job.mode == "check":
            check(grid, job.roster, job.study, job.patience, _say)
        else:
            coordinate(grid, job, _say)
    except ComityError as error:
        raise error.with_traceback(None) from None  # Flower logs it whole; it is not the code that is to be mended


def _say(told: str) -> None:
    print(f"comity: {told}", flush=True)
