"""Addresses are read as they are written, and nothing else gets through to a shell script."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.errors import InputError
from comity.flower.deploy.addresses import Address, read_address

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
NAMES = st.builds(lambda labels, last: ".".join([*labels, last]), st.lists(LABELS, max_size=3), st.just("example"))
HOSTS = st.one_of(NAMES, st.ip_addresses(v=4).map(str), st.ip_addresses(v=6).map(str))


@given(HOSTS, st.integers(1, 65535))
def test_an_address_is_read_back(host: str, port: int) -> None:
    assert read_address(str(Address(host, port))) == Address(host, port)


@given(HOSTS)
def test_the_port_may_be_left_out(host: str) -> None:
    assert read_address(host, 7) == Address(host, 7)


@given(st.text())
def test_an_address_holds_no_shell_characters(text: str) -> None:
    try:
        address = read_address(text)
    except InputError:
        return
    assert re.fullmatch(r"[a-z0-9.:-]+", address.host)
    assert 1 <= address.port <= 65535


@pytest.mark.parametrize(
    "text", ["fe80::1%eth0;x", "fe80::1%$(x)", "[::1", "::1]:1", "a:b:c", "-a", "a-", "a..b", ".", "a b", "é", "a:١"]
)
def test_invalid_addresses_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_address(text)


@pytest.mark.parametrize(("host", "here"), [("localhost", True), ("127.0.0.9", True), ("::1", True), ("hub", False)])
def test_loopback(host: str, here: bool) -> None:
    assert Address(host, 1).is_loopback == here
