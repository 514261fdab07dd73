"""Registration of the sites' public keys with the SuperLink (``python -m comity.flower.deploy.registration``).

Flower gives each registered key a permanent node id. A file keeps the client of each id, so that the coordinator
notices a client that answers under another's name.
"""

import argparse
import json
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from comity.core.files import read_text, write_text
from comity.errors import ComityError, FormatError
from comity.flower.deploy.commands import CONNECTION, FlowerError, run_flwr

_RETRY_INTERVAL = 1.0


def read_keys(path: Path) -> dict[str, Path]:
    """Read the path of each client's public key from a TOML file; relative paths start at that file."""
    try:
        keys = tomllib.loads(read_text(path)).get("keys")
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{path}: not TOML ({error})") from None
    if not isinstance(keys, dict) or not keys or not all(isinstance(key, str) for key in keys.values()):
        raise FormatError(f'{path}: it must list the clients\' keys, as in [keys] followed by north = "keys/north.pub"')
    return {client: path.parent / key for client, key in keys.items()}


def read_nodes(path: Path) -> dict[int, str]:
    """Read the client of each node id from a JSON file; none, if there is no such file yet."""
    if not path.exists():
        return {}
    try:
        nodes = json.loads(read_text(path))
        return {int(node): str(client) for node, client in nodes.items()}
    except (ValueError, AttributeError):
        raise FormatError(
            f"{path}: it must be a JSON object with a client for each node id; register.sh writes it"
        ) from None


def register(client: str, key: Path, nodes: Path, wait: float = 0.0) -> bool:
    """Register a client's public key, keep its node id in the file `nodes`, and return whether the key is new.

    While the SuperLink cannot be reached, try again for `wait` seconds.
    """
    deadline = time.monotonic() + wait
    while True:
        try:
            node = run_flwr("supernode", "register", str(key), CONNECTION, "--name", key.stem)["node-id"]
        except FlowerError as error:
            if "already in use" in str(error):
                if client in read_nodes(nodes).values():
                    return False
                raise FormatError(
                    f"{nodes}: the node of client {client!r} is missing, though its key is registered; "
                    f"stop the SuperLink, delete {nodes.parent}, start it and register again"
                ) from None
            if time.monotonic() > deadline or "unavailable" not in str(error):
                raise
            time.sleep(_RETRY_INTERVAL)
        else:
            clients = read_nodes(nodes) | {int(node): client}
            write_text(nodes, json.dumps(clients, ensure_ascii=False, indent=1))
            return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Register the keys that a file lists, and print what was done for each."""
    parser = argparse.ArgumentParser(prog="python -m comity.flower.deploy.registration")
    parser.add_argument("keys", type=Path, help="a TOML file with the path of each client's key")
    parser.add_argument("--nodes", type=Path, required=True, help="the JSON file for the client of each node id")
    parser.add_argument("--wait", type=float, default=0.0, help="seconds to wait for the SuperLink")
    options = parser.parse_args(arguments)
    try:
        for client, key in read_keys(options.keys).items():
            new = register(client, key, options.nodes, options.wait)
            print(f"{client}: {'registered' if new else 'already registered'}", flush=True)
    except ComityError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
