"""``comity verify``: a saved result checked again."""

from __future__ import annotations

import json

import click

ACCEPTED, REFUSED = 0, 1


@click.command(
    short_help="Check a run again: figures, coalitions, proof.",
    epilog="""\b
Examples:
  comity verify run/
  comity verify run/ --json""",
)
@click.argument("run", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def verify(run: str, as_json: bool) -> int:
    """Check a saved result: that nothing was changed, that coalitions follow from wishes, and the proof.

    RUN is a directory that comity solve wrote. The proof is made again from the saved utilities; it takes no rows.

    Exit status: 0 accepted, 1 refused, 2 not a result at all.
    """
    from comity.cli.screen import Screen, printable
    from comity.errors import ChangedError
    from comity.result import verify as checked
    from comity.tellings import forgiven

    certificate, lines = None, []
    try:
        result = checked(run)
        certificate = result.certificate
        accepted, why = certificate.proved, str(certificate)
        whole = "the seal is whole; coalitions, contributions and proof follow from the figures"
        lines = [whole, why, *forgiven(result)]
    except ChangedError as error:
        accepted, why = False, str(error)
    if as_json:
        told = None if certificate is None else certificate.to_dict()
        document = {"accepted": accepted, "reason": why, "certificate": told}
        click.echo((json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode(), nl=False)
    else:
        screen = Screen()
        screen.heading("Accepted" if accepted else "Refused")
        screen.lines([printable(line) for line in (lines if accepted else [why])])
    return ACCEPTED if accepted else REFUSED
