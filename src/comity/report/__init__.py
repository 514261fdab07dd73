"""The report: one HTML file that opens from disk, for everybody who has to agree."""

from comity.report.of_document import story_of_document
from comity.report.of_own import story_of_own
from comity.report.of_result import story_of
from comity.report.page import render, render_own
from comity.report.runs import MOST, fits, open_run, page_of, write_own_page, write_report
from comity.report.story import Story

__all__ = [
    "MOST",
    "Story",
    "fits",
    "open_run",
    "page_of",
    "render",
    "render_own",
    "story_of",
    "story_of_document",
    "story_of_own",
    "write_own_page",
    "write_report",
]
