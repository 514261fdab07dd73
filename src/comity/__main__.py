"""The way in: ``comity`` and ``python -m comity``."""

import sys


def main() -> None:
    """Run the command line. Even while it is still being loaded, Ctrl-C ends it quietly."""
    try:
        from comity.cli.main import run

        status = run()
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    main()
