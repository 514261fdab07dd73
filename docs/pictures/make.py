"""Draw the pictures of the documentation again: figures of the paper's six clients, and a report in a browser."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import comity
from comity.report import write_report
from comity.report.drawing import draw
from comity.research.datasets.hospitals import CLIENT, TARGET, hospitals
from comity.research.datasets.paper import figure_1

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Draw them."""
    game = figure_1()
    for path in draw(game.benefit_graph(), HERE, equilibrium=comity.find_equilibrium(game)):
        if path.stem == "components":
            path.unlink()
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.html"
        write_report(comity.solve(hospitals(), client=CLIENT, target=TARGET), report)
        _photograph(report, HERE / "report.png")


def _photograph(page: Path, picture: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=next(filter(None, map(shutil.which, BROWSERS))), args=["--no-sandbox"]
        )
        opened = browser.new_page(viewport={"width": 1100, "height": 1180}, device_scale_factor=1.5)
        opened.goto(page.as_uri())
        opened.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
