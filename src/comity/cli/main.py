"""The entry point of the command line: the commands, and the exit status and message when one fails."""

import difflib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import click

from comity import __version__
from comity.cli import interrupts
from comity.cli.compare import compare
from comity.cli.demo import demo
from comity.cli.equilibrium import certify, equilibrium
from comity.cli.federation import federation
from comity.cli.predict import predict
from comity.cli.report import report
from comity.cli.reproduce import reproduce
from comity.cli.saved import show, verify
from comity.cli.solve import solve
from comity.core.wording import Caller, speaking_to
from comity.errors import ComityError

BAD_INPUT = 2
BUG = 3
INTERRUPTED = 130
BROKEN_PIPE = 141


class SuggestingGroup(click.Group):
    """A group of commands that suggests the nearest one for an unknown name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they were added, not sorted."""
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return the command, or fail with a suggestion."""
        name = args[0] if args else ""
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            close = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            ctx.fail(f"There is no command {name!r}.{hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=SuggestingGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  comity demo                        see it work on eleven hospitals
  comity solve t.csv --client site --target y --out run/
                                     coalitions, models and proof from a table
  comity predict run/ new.csv --out p.csv
                                     predict new rows with each client's model
  comity compare t.csv --client site --target y --out compared/
                                     compare with baselines on the same rows
  comity equilibrium wishes.csv      coalitions from a benefit graph
  comity equilibrium game.json       coalitions and proof from utilities
  comity certify game.json my.json   check your own partition
  comity federation init trial/ --clients a,b,c --target y
                                     a deployment over Flower, ready to start
  eval "$(comity completion bash)"   complete commands with Tab""",
)
@click.version_option(__version__, prog_name="comity")
def cli() -> None:
    """Who should train with whom: coalitions that nobody wants to leave, with proof."""


@cli.command(short_help="Print a script for completion with Tab.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes comity's commands and options with Tab.

    \b
    bash: add to ~/.bashrc:                     eval "$(comity completion bash)"
    zsh:  add to ~/.zshrc:                      eval "$(comity completion zsh)"
    fish: comity completion fish > ~/.config/fish/completions/comity.fish
    """
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    assert complete is not None
    click.echo(complete(cli, {}, "comity", "_COMITY_COMPLETE").source())


for command in (demo, solve, predict, verify, show, report, compare, reproduce, equilibrium, certify, federation):
    cli.add_command(command)


def run() -> int:
    """Run the command line and return the exit status; every failure ends in one message, never in a traceback."""
    _prepare_streams()
    signal.signal(signal.SIGTERM, interrupts.end)
    try:
        with speaking_to(Caller.COMMAND_LINE):
            status = cli.main(prog_name="comity", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except ComityError as error:
        click.echo(f"Error: {error}", err=True)
        return BAD_INPUT
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except SystemExit as exiting:
        # Our commands return their status; click and rich exit with 1 when a pipe is broken.
        return _handle_broken_pipe() if exiting.code == 1 else int(exiting.code or 0)
    except BrokenPipeError:
        return _handle_broken_pipe()
    except OSError as error:
        click.echo(f"Error: the output cannot be written ({error.strerror or error})", err=True)
        return BAD_INPUT
    except Exception as error:
        if os.environ.get("COMITY_TRACEBACK"):
            raise
        click.echo(
            f"Error: {type(error).__name__}: {error}\nThis is a bug in comity; please report it, with the output of "
            "the same command with COMITY_TRACEBACK=1 set.",
            err=True,
        )
        return BUG
    return status if isinstance(status, int) else 0


def _prepare_streams() -> None:
    """Replace closed streams by the null device, and let open ones replace characters that they cannot encode."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (it stays open)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _handle_broken_pipe() -> int:
    """Redirect the output to the null device, and return the exit status that shells use for a broken pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise flushing at exit would fail
    return BROKEN_PIPE
