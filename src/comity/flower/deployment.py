"""A ready deployment on Flower: what lies on the coordinator's machine, and what goes to each site."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files as package_files
from string import Template

from comity import __version__
from comity.core import check_names, lookalikes, shown
from comity.errors import InputError
from comity.files import TreeFile, write_tree
from comity.flower.addresses import PORT, Address, read_port
from comity.flower.certificates import Authority, make_authority, make_node_key

CONTROL_PORT = PORT + 1
SITE_PORT = PORT + 2
_ALWAYS = ("localhost", "127.0.0.1", "::1")  # the coordinator's own commands connect here
_LONGEST_SLUG = 40
_SECRET, _PROGRAM = 0o600, 0o755


@dataclass(frozen=True, slots=True)
class Deployment:
    """Who takes part, what is predicted, and where the coordinator is.

    Sites connect to the first of `addresses`; the certificate is good for all of them. `control_port` is for the
    coordinator's own machine; a site's own port is `site_port`, and one more for each further site, so that
    all can be tried on one machine. `insecure` leaves out TLS and authentication.
    """

    clients: tuple[str, ...]
    target: str | None = None
    addresses: tuple[Address, ...] = (Address("localhost", PORT),)
    control_port: int = CONTROL_PORT
    site_port: int = SITE_PORT
    insecure: bool = False

    def __post_init__(self) -> None:
        check_names(self.clients)
        for name in self.clients:
            if "," in name:
                raise InputError(f"client {shown(name)} has a comma in its name, which separates clients; take it out")
            if name != name.strip():
                raise InputError(f"client {shown(name)} has blanks around its name; take them out")
        for first, second in lookalikes(self.clients):
            raise InputError(f"clients {shown(first)} and {shown(second)} look alike; give them names that differ")
        if self.target is not None and not self.target.strip():
            raise InputError(f"the target is {shown(self.target)}; it must be the name of a column")
        if not self.addresses:
            raise InputError("there is no address; say where sites reach the coordinator")
        for port in (self.control_port, self.site_port, self.site_port + len(self.clients) - 1):
            read_port(port)
        port = self.addresses[0].port
        if port == self.control_port:
            raise InputError(f"port {port} cannot both be for sites and for control; give another --control-port")
        if any(address.is_loopback for address in self.addresses) and (
            {port, self.control_port} & set(range(self.site_port, self.site_port + len(self.clients)))
        ):
            raise InputError(
                f"the sites' own ports begin at {self.site_port} and meet another; give another --site-port"
            )

    @property
    def address(self) -> Address:
        """Where sites connect."""
        return self.addresses[0]

    @property
    def directories(self) -> dict[str, str]:
        """The name of each client's directory: letters, digits, dots and hyphens, and no two alike.

        >>> Deployment(("Köln", "St. John's", "東京")).directories
        {'Köln': 'Koln', "St. John's": 'St.-John-s', '東京': 'site'}
        """
        return dict(zip(self.clients, _slugs(self.clients), strict=True))


def write_deployment(directory: str | os.PathLike[str], deployment: Deployment) -> None:
    """Write a deployment into a new directory, whole or not at all."""
    write_tree(directory, deployment_files(deployment))


def deployment_files(deployment: Deployment) -> dict[str, TreeFile]:
    """Return all files by their path, with keys and certificates made for this deployment only."""
    authority = None if deployment.insecure else make_authority()
    files = {"README.md": TreeFile(_fill("README.md", deployment))}
    if authority is not None:
        files["authority/README.md"] = TreeFile(_text("authority.md"))
        files["authority/ca.key"] = TreeFile(authority.signed.key, _SECRET)
        files["authority/ca.crt"] = TreeFile(authority.signed.certificate)
    files.update(_coordinator(deployment, authority))
    for number, client in enumerate(deployment.clients):
        site, public = _site(deployment, client, number, authority)
        files.update(site)
        if public is not None:
            files[f"coordinator/keys/{deployment.directories[client]}.pub"] = TreeFile(public)
    return files


def _coordinator(deployment: Deployment, authority: Authority | None) -> Iterator[tuple[str, TreeFile]]:
    """Yield what lies on the coordinator's machine."""
    yield "coordinator/README.md", TreeFile(_fill("coordinator.md", deployment))
    yield "coordinator/study.toml", TreeFile(_fill("study.toml", deployment))
    yield "coordinator/settings.sh", TreeFile(_fill("coordinator/settings.sh", deployment))
    yield "coordinator/environment.sh", TreeFile(_text("shared/environment.sh"))
    yield "coordinator/connection.sh", TreeFile(_text("coordinator/connection.sh"))
    for script in ("superlink.sh", "register.sh", "check.sh", "run.sh"):
        yield f"coordinator/{script}", TreeFile(_text(f"coordinator/{script}"), _PROGRAM)
    yield "coordinator/app/pyproject.toml", TreeFile(_fill("app.toml", deployment))
    if authority is not None:
        yield "coordinator/clients.toml", TreeFile(_fill("clients.toml", deployment))
        server = authority.sign_server(_hosts(deployment))
        yield "coordinator/certificates/ca.crt", TreeFile(authority.signed.certificate)
        yield "coordinator/certificates/server.crt", TreeFile(server.certificate)
        yield "coordinator/certificates/server.key", TreeFile(server.key, _SECRET)


def _site(
    deployment: Deployment, client: str, number: int, authority: Authority | None
) -> tuple[dict[str, TreeFile], bytes | None]:
    """Return what goes to a client's machine, and its public key."""
    where = f"sites/{deployment.directories[client]}"
    more = {"client": client, "client_toml": toml_text(client), "own_port": str(deployment.site_port + number)}
    files = {
        f"{where}/README.md": TreeFile(_fill("site.md", deployment, **more)),
        f"{where}/site.toml": TreeFile(_fill("site.toml", deployment, **more), _SECRET),
        f"{where}/settings.sh": TreeFile(_fill("site/settings.sh", deployment, **more)),
        f"{where}/environment.sh": TreeFile(_text("shared/environment.sh")),
        f"{where}/supernode.sh": TreeFile(_text("site/supernode.sh"), _PROGRAM),
    }
    if authority is None:
        return files, None
    pair = make_node_key()
    files[f"{where}/ca.crt"] = TreeFile(authority.signed.certificate)
    files[f"{where}/client.key"] = TreeFile(pair.private, _SECRET)
    return files, pair.public


def toml_text(text: str) -> str:
    """Write a text as a TOML string.

    >>> print(toml_text('a "b"'))
    "a \\"b\\""
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _hosts(deployment: Deployment) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(address.host for address in deployment.addresses), *_ALWAYS)))


def _slugs(names: Iterable[str]) -> Iterator[str]:
    """Yield a name for each that any file system, shell and URL can take; two never differ by case only."""
    taken: set[str] = set()
    for name in names:
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", plain).strip("-.")[:_LONGEST_SLUG].rstrip("-.") or "site"
        unique, count = slug, 1
        while unique.lower() in taken:
            count += 1
            unique = f"{slug}-{count}"
        taken.add(unique.lower())
        yield unique


def _fill(template: str, deployment: Deployment, **more: str) -> str:
    """Fill a template with what is known of the deployment."""
    listen_host = (
        ("::1" if ":" in deployment.address.host else "127.0.0.1")
        if deployment.address.is_loopback
        else (
            "::" if ":" in deployment.address.host else "0.0.0.0"  # noqa: S104 (sites come from elsewhere)
        )
    )
    target = deployment.target
    values = {
        "version": __version__,
        "address": str(deployment.address),
        "port": str(deployment.address.port),
        "listen": str(Address(listen_host, deployment.address.port)),
        "control_port": str(deployment.control_port),
        "insecure": "yes" if deployment.insecure else "no",
        "clients": ",".join(deployment.clients),
        "clients_toml": toml_text(",".join(deployment.clients)),
        "target_line": '# target = "the column to predict"' if target is None else f"target = {toml_text(target)}",
        "keys_toml": "\n".join(
            f"{toml_text(client)} = {toml_text(f'keys/{slug}.pub')}" for client, slug in deployment.directories.items()
        ),
        "site_table": _site_table(deployment),
        "security": _text("insecure.md" if deployment.insecure else "secure.md").strip(),
        "site_security": _text("site_insecure.md" if deployment.insecure else "site_secure.md").strip(),
        **more,
    }
    return Template(_text(template)).substitute(values)


def _site_table(deployment: Deployment) -> str:
    rows = [f"| {_cell(client)} | `sites/{slug}` |" for client, slug in deployment.directories.items()]
    return "\n".join(["| client | directory |", "|---|---|", *rows])


def _cell(text: str) -> str:
    """Write a name so that it stays one cell of a table."""
    return re.sub(r"([\\|`*_<>\[\]#])", r"\\\1", " ".join(text.split()))


def _text(template: str) -> str:
    return package_files("comity.flower").joinpath("templates", *template.split("/")).read_text("utf-8")
