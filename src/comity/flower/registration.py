"""Sites' public keys made known to the SuperLink (``python -m comity.flower.registration``)."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from comity.flower.commands import CONNECTION, FlowerError, ask_flower

_PAUSE = 1.0


def register(keys: Iterable[Path], wait: float = 0.0) -> dict[Path, bool]:
    """Register public keys and tell which of them are new; wait so many seconds for a SuperLink that is not there."""
    until = time.monotonic() + wait
    return {key: _register(key, until) for key in keys}


def _register(key: Path, until: float) -> bool:
    while True:
        try:
            ask_flower("supernode", "register", str(key), CONNECTION, "--name", key.stem)
        except FlowerError as error:
            if "already in use" in str(error):
                return False
            if time.monotonic() > until or not _is_passing(error):
                raise
            time.sleep(_PAUSE)
        else:
            return True


def _is_passing(error: FlowerError) -> bool:
    """Tell whether an error may be gone when the SuperLink has started."""
    return any(sign in str(error).lower() for sign in ("unavailable", "connect", "unreachable"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Register the keys that were given, and say so."""
    parser = argparse.ArgumentParser(prog="python -m comity.flower.registration")
    parser.add_argument("keys", nargs="+", type=Path)
    parser.add_argument("--wait", type=float, default=0.0, help="seconds to wait for the SuperLink")
    given = parser.parse_args(arguments)
    for key in given.keys:
        try:
            new = register([key], given.wait)[key]
        except FlowerError as error:
            print(f"{key.stem}: {error}", file=sys.stderr)
            return 1
        print(f"{key.stem}: {'registered' if new else 'was registered already'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
