"""Network addresses: a host and a port."""

import ipaddress
import re
import socket
from dataclasses import dataclass

from comity.core.names import shown
from comity.errors import InputError

PORT = 9092  # where sites connect by default
_MAX_PORT = 65535
_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")
_MAX_HOST_LENGTH = 253


@dataclass(frozen=True, slots=True)
class Address:
    """A host (a name or an IP address) and a port.

    >>> str(Address("::1", 9092)), str(Address("north.example", 9092))
    ('[::1]:9092', 'north.example:9092')
    """

    host: str
    port: int

    @property
    def family(self) -> socket.AddressFamily:
        """The family of sockets for this address: IPv6 if the host is an IPv6 address, else IPv4."""
        return socket.AF_INET6 if ":" in self.host else socket.AF_INET

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine itself."""
        ip = ip_address(self.host)
        return self.host == "localhost" if ip is None else ip.is_loopback

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_address(text: str, port: int = PORT) -> Address:
    """Read ``HOST`` or ``HOST:PORT``; an IPv6 address with a port stands in brackets.

    >>> read_address("north.example:443")
    Address(host='north.example', port=443)
    >>> read_address("[::1]:9092"), read_address("::1")
    (Address(host='::1', port=9092), Address(host='::1', port=9092))
    >>> read_address("north example")
    Traceback (most recent call last):
    comity.errors.InputError: …
    """
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(.*))?", text, re.DOTALL)
    if bracketed or text.count(":") > 1:
        host, number = bracketed.groups() if bracketed else (text, None)
        # A zone, after %, is valid on one machine only.
        if ":" not in host or "%" in host or ip_address(host) is None:
            raise InputError(f"{shown(text)} is not an address; give HOST:PORT, such as north.example:{PORT}")
    else:
        host, colon, rest = text.partition(":")
        number = rest if colon else None
        labels = host.split(".")
        is_name = len(host) <= _MAX_HOST_LENGTH and all(_LABEL.fullmatch(label) for label in labels)
        if not is_name or (labels[-1].isdigit() and ip_address(host) is None):
            raise InputError(
                f"the address {shown(text)} has no valid host; give HOST:PORT, such as north.example:{PORT}"
            )
    return Address(host.lower(), port if number is None else read_port(number, text))


def read_port(text: str | int, whole: str | None = None) -> int:
    """Read a port; `whole` is the address that it is part of, for the error message."""
    number = str(text)
    if not re.fullmatch(r"[0-9]{1,5}", number, re.ASCII) or not 1 <= int(number) <= _MAX_PORT:
        where = "" if whole is None else f" in the address {shown(whole)}"
        raise InputError(f"the port is {shown(text)}{where}; it must be a whole number from 1 to {_MAX_PORT}")
    return int(number)


def ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address that a host is, or None if it is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
