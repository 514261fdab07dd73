"""A site's SuperNode, more careful and more patient than Flower's own (``python -m comity.flower.supernode``).

A SuperNode runs whatever app the coordinator sends: code that could read the rows and send them away, past every
policy. But comity is installed at the site, so the app that is sent needs no code at all: it only names comity's. This
SuperNode looks at what was sent before anything is run, and ends if there is more to it.

And one that was killed and started again is refused until the SuperLink has missed its heartbeats, for a minute, and
Flower's own then gives up. This one lets its heart beat faster, so that it takes 20 seconds, and tries again meanwhile.

All arguments are those of ``flower-supernode``.
"""

from __future__ import annotations

import io
import os
import sys
import time
import tomllib
import zipfile
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import httpx

from comity.errors import RefusedError

COMPONENTS = {"serverapp": "comity.flower.server_app:app", "clientapp": "comity.flower.client_app:app"}
ANY_APP = "COMITY_ANY_APP"  # set to yes, every app is run: for tests and trials
PATIENCE = "COMITY_PATIENCE"  # how many seconds to try again when the coordinator lets this site not in
HEARTBEAT = 10  # seconds, the fewest that Flower allows; a SuperNode is gone when two were missed
_LONGEST = 90.0
_PAUSE = 2.0
_LOOK = 1.0
_SETTINGS = "pyproject.toml"
_ALLOWED = (_SETTINGS, ".info/CONTENT")  # the second is Flower's own list of what is in the app
_NOT_ACTIVATED = 2004  # Flower's number: the key is not registered, or a SuperNode with this key is connected


def check_app(bundle: bytes) -> None:
    """Check that an app, as Flower sends it, is comity's: settings that name comity's components, and no code."""
    try:
        with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
            names = archive.namelist()
            settings = tomllib.loads(archive.read(_SETTINGS).decode())
        components = settings["tool"]["flwr"]["app"]["components"]
    except (zipfile.BadZipFile, tomllib.TOMLDecodeError, UnicodeDecodeError, LookupError, TypeError):
        raise RefusedError("the coordinator sent an app that cannot be read; it is not run") from None
    if others := [name for name in names if name not in _ALLOWED or names.count(name) > 1]:
        raise RefusedError(f"the coordinator sent an app with more than settings in it ({others[0]!r}); it is not run")
    if components != COMPONENTS:
        raise RefusedError(f"the coordinator sent an app that is not comity's ({components!r}); it is not run")


def guard() -> None:
    """Make Flower's SuperNode in this process check each app before it keeps it."""
    internal: Any = import_module("flwr.supernode.start_client_internal")

    # Flower reads an app's settings once, when it got it and before it keeps or runs it. There is no hook for this; if
    # a later Flower has no such function any more, this fails, and the SuperNode does not start.
    read_settings = internal.get_fused_config_from_fab

    def checked(bundle: Any, *rest: Any) -> Any:
        try:
            check_app(bundle)
        except RefusedError as error:
            print(f"Refused: {error}", file=sys.stderr, flush=True)
            os._exit(1)  # at once: threads of Flower's would go on
        return read_settings(bundle, *rest)

    internal.get_fused_config_from_fab = checked


def be_patient(patience: float) -> None:
    """Make Flower's SuperNode in this process try again, so many seconds, when it is not let in."""
    for module in ("flwr.supernode.fleet_http_connection", "flwr.supercore.heartbeat"):
        vars(import_module(module))["HEARTBEAT_DEFAULT_INTERVAL"] = HEARTBEAT
    client: Any = import_module("flwr.supernode.fleet_http_client").FleetHttpClient
    activate = client.ActivateNode

    def activated(self: Any, request: Any) -> Any:
        until = time.monotonic() + patience
        said = False
        while True:
            try:
                return activate(self, request)
            except httpx.HTTPStatusError as error:
                if not _is_not_activated(error) or time.monotonic() > until:
                    raise
            if not said:
                print(
                    "Not let in yet: the key of this site is not registered, or a SuperNode with it was connected a "
                    f"moment ago. Trying again for {patience:.0f} seconds.",
                    file=sys.stderr,
                    flush=True,
                )
                said = True
            time.sleep(_PAUSE)

    client.ActivateNode = activated


def be_quick() -> None:
    """Make Flower's SuperNode in this process start client apps from one that has loaded them (`executing`).

    And let it look for questions every second instead of every third, and for its own app's answer ten times a second.
    """
    internal: Any = import_module("flwr.supernode.start_client_internal")
    started = internal.subprocess.Popen

    def start(command: list[str], *rest: Any, **named: Any) -> Any:
        if command[0] == "flower-superexec":
            command = [sys.executable, "-m", "comity.flower.executing", *command[1:]]
        return started(command, *rest, **named)

    internal.subprocess = SimpleNamespace(Popen=start)
    internal.time = SimpleNamespace(sleep=lambda seconds: time.sleep(_LOOK if seconds > _LOOK else seconds / 5))


def _is_not_activated(error: httpx.HTTPStatusError) -> bool:
    try:
        return int(error.response.json()["code"]) == _NOT_ACTIVATED
    except (ValueError, LookupError, TypeError):
        return False


def main() -> None:
    """Start the SuperNode; return when it was stopped."""
    if os.environ.get(ANY_APP) == "yes":
        print(f"WARNING: {ANY_APP} is set: whatever app the coordinator sends is run here.", file=sys.stderr)
    else:
        guard()
    try:
        be_patient(float(os.environ.get(PATIENCE) or _LONGEST))
    except ValueError:
        sys.exit(f"{PATIENCE} is {os.environ[PATIENCE]!r}; it must be a number of seconds")
    be_quick()
    from flwr.supernode.cli import flower_supernode

    sys.argv[0] = "flower-supernode"
    flower_supernode()


if __name__ == "__main__":
    main()
