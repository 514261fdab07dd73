"""The server app, at the coordinator."""

from __future__ import annotations

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from comity.flower.checking import check
from comity.flower.coordinator import Job, coordinate

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Do the job that the run's configuration describes, or check that everything fits."""
    job = Job.read(context.run_config)
    if job.mode == "check":
        check(grid, job.roster, job.study, job.patience, _say)
    else:
        coordinate(grid, job, _say)


def _say(told: str) -> None:
    print(f"comity: {told}", flush=True)
