"""Eleven hospitals in one table: who should train with whom, to predict how long patients stay."""

from __future__ import annotations

import argparse
from pathlib import Path

import comity
from comity.report import write_report
from comity.research.datasets.hospitals import CLIENT, TARGET, hospitals


def main(out: Path) -> None:
    """Solve, tell what came out, and write result and report."""
    rows = hospitals()
    result = comity.solve(rows, client=CLIENT, target=TARGET)
    for coalition in result.coalitions:
        print("train together:" if len(coalition) > 1 else "alone:", ", ".join(sorted(coalition)))
    for client, standing in result.utilities.items():
        alone, joined, pooled = (figure.value for figure in (standing.alone, standing.coalition, standing.together))
        print(f"{client}: {result.metric} {alone:.3f} alone, {joined:.3f} in its coalition, {pooled:.3f} all together")
    print(result.certificate)
    result.save(out)
    write_report(result, out / "report.html")
    comity.verify(out)  # what anybody can do who was sent the result
    predictions = result.predict(rows.head(3))
    print(predictions.to_string(index=False))
    print(f"open {out / 'report.html'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, default=Path("out/table"), help="a new directory (%(default)s)")
    main(parser.parse_args().out)
