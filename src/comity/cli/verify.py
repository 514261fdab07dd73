"""``comity verify``: check a saved result again."""

from __future__ import annotations

import json

import click

import comity

ACCEPTED, REFUSED = 0, 1


@click.command(
    short_help="Check a run again: numbers, coalitions, proof.",
    epilog="""\b
Examples:
  comity verify run/
  comity verify run/ --json""",
)
@click.argument("run", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def verify(run: str, as_json: bool) -> int:
    """Check that a saved result was not changed, that its coalitions follow from the benefit graph, and its proof.

    RUN is a directory that comity solve wrote. The proof is made again from the saved utilities; no rows are needed.

    Exit status: 0 accepted, 1 refused, 2 not a result of comity.
    """
    from comity.cli.screen import Screen, printable
    from comity.errors import ChangedError
    from comity.result.sections import forgiven

    certificate, lines = None, []
    try:
        result = comity.verify(run)
        certificate = result.certificate.to_dict()
        accepted, reason = result.certificate.proved, str(result.certificate)
        unchanged = "the seal is intact; coalitions, contributions and proof follow from the saved numbers"
        lines = [unchanged, reason, *forgiven(result)]
    except ChangedError as error:
        accepted, reason = False, str(error)
    if as_json:
        document = {"accepted": accepted, "reason": reason, "certificate": certificate}
        click.echo((json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode(), nl=False)
    else:
        screen = Screen()
        screen.heading("Accepted" if accepted else "Refused")
        screen.lines([printable(line) for line in (lines if accepted else [reason])])
    return ACCEPTED if accepted else REFUSED
