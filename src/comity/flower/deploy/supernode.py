"""A site's SuperNode, with more checks and retries than Flower's (``python -m comity.flower.deploy.supernode``).

Flower's SuperNode runs any app that the coordinator sends: code that could read the rows and send them away, whatever
the policy says. comity is installed at the site, so its app needs no code and only names comity's components. This
SuperNode checks every app before it runs, and exits if it holds anything else.

The SuperLink refuses a restarted SuperNode until the killed one has missed its heartbeats. That takes a minute with
Flower's own, which gives up. This one sends heartbeats more often, so that it takes 20 seconds, and keeps trying.

The arguments are those of ``flower-supernode``.
"""

import io
import os
import sys
import time
import tomllib
import zipfile
from contextlib import suppress
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import httpx

from comity.errors import RefusedError

COMPONENTS = {"serverapp": "comity.flower.server_app:app", "clientapp": "comity.flower.client_app:app"}
ANY_APP = "COMITY_ANY_APP"  # "yes" runs every app: for tests
PATIENCE = "COMITY_PATIENCE"  # seconds to keep trying while the SuperLink refuses this site
_HEARTBEAT = 10  # seconds, the least that Flower allows; after two missed ones a SuperNode counts as gone
_DEFAULT_PATIENCE = 90.0
_RETRY_INTERVAL = 2.0
_POLL_INTERVAL = 1.0
_SETTINGS = "pyproject.toml"
_ALLOWED = (_SETTINGS, ".info/CONTENT")  # the second is Flower's list of the app's files
_NOT_ACTIVATED = 2004  # Flower's code: the key is not registered, or a SuperNode with this key is connected


def check_app(bundle: bytes) -> None:
    """Check that an app bundle is comity's: settings that name comity's components, and no code."""
    try:
        with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
            names = archive.namelist()
            settings = tomllib.loads(archive.read(_SETTINGS).decode())
        components = settings["tool"]["flwr"]["app"]["components"]
    except (zipfile.BadZipFile, tomllib.TOMLDecodeError, UnicodeDecodeError, LookupError, TypeError):
        raise RefusedError("the coordinator sent an app that cannot be read; it was not run") from None
    if others := [name for name in names if name not in _ALLOWED or names.count(name) > 1]:
        raise RefusedError(f"the coordinator sent an app that holds more than settings ({others[0]!r}); it was not run")
    if components != COMPONENTS:
        raise RefusedError(f"the coordinator sent an app that is not comity's ({components!r}); it was not run")


def check_every_app() -> None:
    """Make Flower's SuperNode in this process check each app before it stores or runs it."""
    internal: Any = import_module("flwr.supernode.start_client_internal")
    # Flower has no hook for this, but reads an app's settings once, before it stores or runs the app. If a later
    # version has no such function, this line fails, and the SuperNode does not start.
    read_settings = internal.get_fused_config_from_fab

    def checked(bundle: Any, *rest: Any) -> Any:
        try:
            check_app(bundle)
        except RefusedError as error:
            print(f"Refused: {error}", file=sys.stderr, flush=True)
            os._exit(1)  # at once: Flower's threads would continue
        return read_settings(bundle, *rest)

    internal.get_fused_config_from_fab = checked


def retry_activation(patience: float) -> None:
    """Make Flower's SuperNode in this process keep trying for `patience` seconds while the SuperLink refuses it."""
    for module in ("flwr.supernode.fleet_http_connection", "flwr.supercore.heartbeat"):
        vars(import_module(module))["HEARTBEAT_DEFAULT_INTERVAL"] = _HEARTBEAT
    client: Any = import_module("flwr.supernode.fleet_http_client").FleetHttpClient
    activate = client.ActivateNode

    def activated(self: Any, request: Any) -> Any:
        deadline = time.monotonic() + patience
        reported = False
        while True:
            try:
                return activate(self, request)
            except httpx.HTTPStatusError as error:
                if not _is_refusal(error.response) or time.monotonic() > deadline:
                    raise
            if not reported:
                notice = (
                    "Not connected yet: the key of this site is not registered, or a SuperNode with it was connected a "
                    f"moment ago. Trying again for {patience:.0f} seconds."
                )
                print(notice, file=sys.stderr, flush=True)
                reported = True
            time.sleep(_RETRY_INTERVAL)

    client.ActivateNode = activated


def _is_refusal(response: httpx.Response) -> bool:
    with suppress(ValueError, LookupError, TypeError):
        return int(response.json()["code"]) == _NOT_ACTIVATED
    return False


def start_apps_faster() -> None:
    """Make Flower's SuperNode in this process fork its client apps (see `executor`), and poll more often."""
    internal: Any = import_module("flwr.supernode.start_client_internal")
    popen = internal.subprocess.Popen

    def start(command: list[str], *rest: Any, **named: Any) -> Any:
        if command[0] == "flower-superexec":
            command = [sys.executable, "-m", "comity.flower.deploy.executor", *command[1:]]
        return popen(command, *rest, **named)

    internal.subprocess = SimpleNamespace(Popen=start)

    def sleep(seconds: float) -> None:
        """Poll for questions every second, not every third, and for the app's answer ten times a second."""
        time.sleep(_POLL_INTERVAL if seconds > _POLL_INTERVAL else seconds / 5)

    internal.time = SimpleNamespace(sleep=sleep)


def main() -> None:
    """Run the SuperNode until it is stopped."""
    if os.environ.get(ANY_APP) == "yes":
        print(f"WARNING: {ANY_APP} is set: any app that the coordinator sends runs here.", file=sys.stderr)
    else:
        check_every_app()
    try:
        retry_activation(float(os.environ.get(PATIENCE) or _DEFAULT_PATIENCE))
    except ValueError:
        sys.exit(f"{PATIENCE} is {os.environ[PATIENCE]!r}; it must be a number of seconds")
    start_apps_faster()
    from flwr.supernode.cli import flower_supernode

    sys.argv[0] = "flower-supernode"
    flower_supernode()


if __name__ == "__main__":
    main()
