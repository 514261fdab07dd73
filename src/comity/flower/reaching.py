"""A site's own check: whether its file and rows are in order, and whether it can reach the coordinator."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

from comity.errors import InputError
from comity.files import read_text
from comity.flower.addresses import Address, read_address
from comity.sites import Site

_ADDRESS = re.compile(r"COMITY_ADDRESS:=([^}\"]+)")
_INSECURE = re.compile(r"^COMITY_INSECURE=yes$", re.MULTILINE)
_SECONDS = 10.0


def check_site(directory: Path) -> Iterator[str]:
    """Yield in words what is in order at a site; what is not is an error."""
    site = Site.read(directory / "site.toml")
    member = site.member()
    yield f"{site.name}: {_rows(member)}"
    policy = site.policy
    noise = "no noise" if site.privacy is None else f"noise {site.privacy.noise:g}"
    yield f"policy: {len(policy.questions)} kinds of questions allowed, about {policy.least_rows} rows or more; {noise}"
    settings = read_text(directory / "settings.sh")
    told = _ADDRESS.search(settings)
    if told is None:
        raise InputError(f"{directory / 'settings.sh'}: it does not say COMITY_ADDRESS, where the coordinator is")
    address = read_address(told[1])
    authority = directory / "ca.crt"
    insecure = _INSECURE.search(settings) is not None
    if not insecure and not authority.exists():
        raise InputError(
            f"{authority} is missing, by which the coordinator is known; get it from the coordinator again"
        )
    yield reach(address, None if insecure else authority)


def reach(address: Address, authority: Path | None) -> str:
    """Connect to the coordinator, and check its certificate if there is an authority; say how it went."""
    where = f"{address.host}:{address.port}"
    try:
        with socket.create_connection((address.host, address.port), timeout=_SECONDS) as plain:
            if authority is None:
                return f"the coordinator answers at {where}, WITHOUT encryption"
            context = ssl.create_default_context(cafile=str(authority))
            with context.wrap_socket(plain, server_hostname=address.host):
                return f"the coordinator answers at {where}, and its certificate is good"
    except ssl.SSLError as error:
        raise InputError(
            f"whoever answers at {where} is not the coordinator that {authority} vouches for ({error.reason})"
        ) from None
    except OSError as error:
        raise InputError(
            f"the coordinator cannot be reached at {where} ({error.strerror or error}); is its SuperLink running, and "
            "does a firewall let you through?"
        ) from None


def _rows(member: object) -> str:
    rows = getattr(member, "rows", None)
    return "examples of its own" if rows is None else f"{len(rows):,} rows, {len(rows.columns)} columns"
