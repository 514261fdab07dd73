"""The server app, at the coordinator."""

from __future__ import annotations

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from comity.flower.coordinator import Job, coordinate

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Do the job that the run's configuration describes."""
    coordinate(grid, Job.read(context.run_config), _say)


def _say(told: str) -> None:
    print(f"comity: {told}", flush=True)
