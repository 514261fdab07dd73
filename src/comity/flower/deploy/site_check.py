"""A site's own check: whether its file and rows are valid, and whether it can reach the coordinator."""

import math
import re
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

from comity.client.sites import Site
from comity.core.files import read_text
from comity.errors import InputError
from comity.flower.deploy.addresses import Address, read_address

_ADDRESS = re.compile(r"COMITY_ADDRESS:=([^}\"]+)")
_INSECURE = re.compile(r"^COMITY_INSECURE=yes$", re.MULTILINE)
_CONNECTION_TIMEOUT = 10.0


def check_site(directory: Path) -> Iterator[str]:
    """Yield a sentence for each check that passed; the first that fails is an `InputError`."""
    site = Site.read(directory / "site.toml")
    member = site.member()
    rows = getattr(member, "rows", None)
    yield f"{site.name}: " + (
        "examples from its factory" if rows is None else f"{len(rows):,} rows, {len(rows.columns)} columns"
    )
    policy = site.policy
    noise = "no noise" if site.privacy is None else f"noise {site.privacy.noise:g}"
    yield f"policy: {len(policy.questions)} kinds of questions allowed, about {policy.least_rows} rows or more; {noise}"
    if rows is not None:
        limit = f"at most {policy.disclosure:.0%}" if math.isfinite(policy.disclosure) else "no limit"
        yield f"disclosed so far: {member.disclosed:.1%} of the numbers in its rows; {limit}"
    settings = read_text(directory / "settings.sh")
    address = _ADDRESS.search(settings)
    if address is None:
        raise InputError(f"{directory / 'settings.sh'}: COMITY_ADDRESS, the coordinator's address, is not set")
    authority = directory / "ca.crt"
    insecure = _INSECURE.search(settings) is not None
    if not insecure and not authority.exists():
        raise InputError(
            f"{authority} is missing, which verifies the coordinator's certificate; get it from the coordinator again"
        )
    yield check_connection(read_address(address[1]), None if insecure else authority)


def check_connection(address: Address, authority: Path | None) -> str:
    """Connect to the coordinator, verify its certificate if there is an authority, and return a sentence about it."""
    try:
        with socket.create_connection((address.host, address.port), timeout=_CONNECTION_TIMEOUT) as plain:
            if authority is None:
                return f"the coordinator answers at {address}, WITHOUT encryption"
            context = ssl.create_default_context(cafile=str(authority))
            with context.wrap_socket(plain, server_hostname=address.host):
                return f"the coordinator answers at {address}, and its certificate is valid"
    except ssl.SSLError as error:
        raise InputError(
            f"the server at {address} is not the coordinator: {authority} does not verify it ({error.reason})"
        ) from None
    except OSError as error:
        raise InputError(
            f"the coordinator cannot be reached at {address} ({error.strerror or error}); is its SuperLink running, "
            "and does a firewall let you through?"
        ) from None
