"""A deployment on Flower: the files for the coordinator's machine and for each site."""

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
from comity.core.files import TreeFile, write_tree
from comity.core.names import check_names, lookalikes, shown
from comity.errors import InputError
from comity.flower.deploy.addresses import PORT, Address, read_port
from comity.flower.deploy.certificates import Authority, make_authority, make_node_key

CONTROL_PORT = PORT + 1
SITE_PORT = PORT + 2
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")  # the coordinator's own commands connect here
_MAX_SLUG_LENGTH = 40
_SECRET, _EXECUTABLE = 0o600, 0o755


@dataclass(frozen=True, slots=True)
class Deployment:
    """The clients, the target column, and the coordinator's addresses and ports.

    Sites connect to the first of `addresses`; the certificate is valid for all of them. `control_port` is used on the
    coordinator's machine only. Each site uses a port on its own machine: `site_port` for the first, the next for the
    second and so on, so that all sites can be tried on one machine. `insecure` omits TLS and authentication.
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
                raise InputError(f"client {shown(name)} has a comma in its name, which separates clients; remove it")
            if name != name.strip():
                raise InputError(f"client {shown(name)} has spaces around its name; remove them")
        for first, second in lookalikes(self.clients):
            raise InputError(f"clients {shown(first)} and {shown(second)} look alike; give them names that differ")
        if self.target is not None and not self.target.strip():
            raise InputError(f"the target is {shown(self.target)}; it must be the name of a column")
        if not self.addresses:
            raise InputError("there is no address; give the one at which sites reach the coordinator")
        for port in (self.control_port, self.site_port, self.site_port + len(self.clients) - 1):
            read_port(port)
        port = self.addresses[0].port
        if port == self.control_port:
            raise InputError(f"port {port} cannot serve both sites and control; give another --control-port")
        if any(address.is_loopback for address in self.addresses) and (
            {port, self.control_port} & set(range(self.site_port, self.site_port + len(self.clients)))
        ):
            raise InputError(
                f"the sites' ports start at {self.site_port} and overlap the coordinator's; give another --site-port"
            )

    @property
    def address(self) -> Address:
        """The address to which sites connect."""
        return self.addresses[0]

    @property
    def directories(self) -> dict[str, str]:
        """The name of each client's directory: letters, digits, dots and hyphens, all different.

        >>> Deployment(("Köln", "St. John's", "東京")).directories
        {'Köln': 'Koln', "St. John's": 'St.-John-s', '東京': 'site'}
        """
        return dict(zip(self.clients, _slugs(self.clients), strict=True))


def write_deployment(directory: str | os.PathLike[str], deployment: Deployment) -> None:
    """Write a deployment into a new directory, completely or not at all."""
    write_tree(directory, deployment_files(deployment))


def deployment_files(deployment: Deployment) -> dict[str, TreeFile]:
    """Return all files by their path, with new keys and certificates."""
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
    """Yield the path and content of each file for the coordinator's machine."""
    yield "coordinator/README.md", TreeFile(_fill("coordinator.md", deployment))
    yield "coordinator/study.toml", TreeFile(_fill("study.toml", deployment))
    yield "coordinator/settings.sh", TreeFile(_fill("coordinator/settings.sh", deployment))
    yield "coordinator/environment.sh", TreeFile(_text("shared/environment.sh"))
    yield "coordinator/connection.sh", TreeFile(_text("coordinator/connection.sh"))
    for script in ("superlink.sh", "register.sh", "check.sh", "run.sh"):
        yield f"coordinator/{script}", TreeFile(_text(f"coordinator/{script}"), _EXECUTABLE)
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
    """Return the files for a client's machine, and its public key."""
    directory = f"sites/{deployment.directories[client]}"
    values = {"client": client, "client_toml": toml_text(client), "own_port": str(deployment.site_port + number)}
    files = {
        f"{directory}/README.md": TreeFile(_fill("site.md", deployment, **values)),
        f"{directory}/site.toml": TreeFile(_fill("site.toml", deployment, **values), _SECRET),
        f"{directory}/settings.sh": TreeFile(_fill("site/settings.sh", deployment, **values)),
        f"{directory}/environment.sh": TreeFile(_text("shared/environment.sh")),
        f"{directory}/supernode.sh": TreeFile(_text("site/supernode.sh"), _EXECUTABLE),
    }
    if authority is None:
        return files, None
    pair = make_node_key()
    files[f"{directory}/ca.crt"] = TreeFile(authority.signed.certificate)
    files[f"{directory}/client.key"] = TreeFile(pair.private, _SECRET)
    return files, pair.public


def toml_text(text: str) -> str:
    """Write a text as a TOML string.

    >>> print(toml_text('a "b"'))
    "a \\"b\\""
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _hosts(deployment: Deployment) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(address.host for address in deployment.addresses), *_LOCAL_HOSTS)))


def _slugs(names: Iterable[str]) -> Iterator[str]:
    """Yield for each name one that is safe in any file system, shell and URL, and unique regardless of case."""
    taken: set[str] = set()
    for name in names:
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", plain).strip("-.")[:_MAX_SLUG_LENGTH].rstrip("-.") or "site"
        unique, count = slug, 1
        while unique.lower() in taken:
            count += 1
            unique = f"{slug}-{count}"
        taken.add(unique.lower())
        yield unique


def _fill(template: str, deployment: Deployment, **more: str) -> str:
    """Fill a template with the values of the deployment."""
    listen_host = (
        ("::1" if ":" in deployment.address.host else "127.0.0.1")
        if deployment.address.is_loopback
        else (
            "::" if ":" in deployment.address.host else "0.0.0.0"  # noqa: S104 (sites connect from other machines)
        )
    )
    target = deployment.target
    values = {
        "version": __version__,
        "address": str(deployment.address),
        "listen": str(Address(listen_host, deployment.address.port)),
        "control_port": str(deployment.control_port),
        "insecure": "yes" if deployment.insecure else "no",
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
    """Escape a name for one cell of a Markdown table."""
    return re.sub(r"([\\|`*_<>\[\]#])", r"\\\1", " ".join(text.split()))


def _text(template: str) -> str:
    return package_files("comity.flower.deploy").joinpath("templates", *template.split("/")).read_text("utf-8")
