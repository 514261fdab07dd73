"""Sites' public keys made known to the SuperLink (``python -m comity.flower.registration``).

Flower gives each registered key a node id, and a SuperNode with that key has this id for good. Which id is whose is
kept in a file, so that the coordinator can tell a client that answers under another's name.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from comity.errors import ComityError, FormatError
from comity.files import read_text, write_text
from comity.flower.commands import CONNECTION, FlowerError, ask_flower

_PAUSE = 1.0


def read_keys(path: Path) -> dict[str, Path]:
    """Read from a TOML file which public key is whose; relative paths begin at the file."""
    try:
        keys = tomllib.loads(read_text(path)).get("keys")
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{path}: not TOML ({error})") from None
    if not isinstance(keys, dict) or not keys or not all(isinstance(key, str) for key in keys.values()):
        raise FormatError(f'{path}: it must say whose each key is, as in [keys] and then north = "keys/north.pub"')
    return {client: path.parent / key for client, key in keys.items()}


def read_nodes(path: Path) -> dict[int, str]:
    """Read which node id is whose; nobody's, if there is no such file yet."""
    if not path.exists():
        return {}
    try:
        nodes = json.loads(read_text(path))
        return {int(node): str(client) for node, client in nodes.items()}
    except (ValueError, AttributeError):
        raise FormatError(f"{path}: it must be JSON with a client for each node id; register.sh writes it") from None


def register(client: str, key: Path, nodes: Path, wait: float = 0.0) -> bool:
    """Register a client's public key, keep its node id, and tell whether it is new.

    A SuperLink that is not there is waited for, so many seconds.
    """
    until = time.monotonic() + wait
    while True:
        try:
            node = ask_flower("supernode", "register", str(key), CONNECTION, "--name", key.stem)["node-id"]
        except FlowerError as error:
            if "already in use" in str(error):
                _check_known(client, nodes)
                return False
            if time.monotonic() > until or not _is_passing(error):
                raise
            time.sleep(_PAUSE)
        else:
            _keep(read_nodes(nodes) | {int(node): client}, nodes)
            return True


def _keep(known: Mapping[int, str], nodes: Path) -> None:
    write_text(nodes, json.dumps({str(node): client for node, client in known.items()}, ensure_ascii=False, indent=1))


def _check_known(client: str, nodes: Path) -> None:
    if client not in read_nodes(nodes).values():
        raise FormatError(
            f"{nodes}: it does not say which node is that of {client!r}, whose key is registered; "
            f"stop the SuperLink, delete {nodes.parent}, start it and register again"
        )


def _is_passing(error: FlowerError) -> bool:
    """Tell whether an error may be gone when the SuperLink has started."""
    return "unavailable" in str(error)


def main(arguments: Sequence[str] | None = None) -> int:
    """Register the keys that a file lists, and say so."""
    parser = argparse.ArgumentParser(prog="python -m comity.flower.registration")
    parser.add_argument("keys", type=Path, help="a TOML file that says which key is whose")
    parser.add_argument("--nodes", type=Path, required=True, help="where to keep which node is whose")
    parser.add_argument("--wait", type=float, default=0.0, help="seconds to wait for the SuperLink")
    given = parser.parse_args(arguments)
    try:
        for client, key in read_keys(given.keys).items():
            new = register(client, key, given.nodes, given.wait)
            print(f"{client}: {'registered' if new else 'was registered already'}", flush=True)
    except ComityError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
