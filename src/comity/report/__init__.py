"""The report: one HTML file that opens from disk, written for everybody who has to agree on the decision."""

from comity.report.equilibrium_story import describe_equilibrium
from comity.report.page import render, render_client_page
from comity.report.result_story import describe_client_result, describe_result
from comity.report.run_report import (
    MAX_CLIENTS,
    fits_on_page,
    open_run,
    render_run,
    write_client_page,
    write_report,
)
from comity.report.story import Story

__all__ = [
    "MAX_CLIENTS",
    "Story",
    "describe_client_result",
    "describe_equilibrium",
    "describe_result",
    "fits_on_page",
    "open_run",
    "render",
    "render_client_page",
    "render_run",
    "write_client_page",
    "write_report",
]
