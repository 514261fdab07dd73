"""A deployment on Flower: the files for the coordinator's machine and for each site."""

import json
import os
import re
import unicodedata
from dataclasses import dataclass, replace
from importlib.resources import files as package_files
from itertools import chain, count
from string import Template

from comity import __version__
from comity.core.files import TreeFile, write_tree
from comity.core.names import check_names, lookalikes, shown
from comity.errors import InputError
from comity.flower.deploy.addresses import PORT, Address, read_port
from comity.flower.deploy.certificates import Authority, make_node_key

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
    control_port: int = PORT + 1
    site_port: int = PORT + 2
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
    def directories(self) -> dict[str, str]:
        """The name of each client's directory: safe in any file system, shell and URL, and unique regardless of case.

        >>> Deployment(("Köln", "St. John's", "東京")).directories
        {'Köln': 'Koln', "St. John's": 'St.-John-s', '東京': 'site'}
        """
        slugs: dict[str, str] = {}
        taken: set[str] = set()
        for name in self.clients:
            plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
            slug = re.sub(r"[^A-Za-z0-9.]+", "-", plain).strip("-.")[:_MAX_SLUG_LENGTH].rstrip("-.") or "site"
            numbered = (f"{slug}-{number}" for number in count(2))
            slugs[name] = next(each for each in chain([slug], numbered) if each.lower() not in taken)
            taken.add(slugs[name].lower())
        return slugs


def write_deployment(directory: str | os.PathLike[str], deployment: Deployment) -> None:
    """Write a deployment with new keys and certificates into a new directory, completely or not at all."""
    files = {"README.md": _filled("README.md", deployment), **_coordinator_files(deployment)}
    for number, client in enumerate(deployment.clients):
        files |= _site_files(deployment, client, deployment.site_port + number)
    if not deployment.insecure:
        files |= _keys_and_certificates(deployment)
    write_tree(directory, files)


def _coordinator_files(deployment: Deployment) -> dict[str, TreeFile]:
    """Return the files for the coordinator's machine, without keys."""
    return {
        "coordinator/README.md": _filled("coordinator.md", deployment),
        "coordinator/study.toml": _filled("study.toml", deployment),
        "coordinator/settings.sh": _filled("coordinator/settings.sh", deployment),
        "coordinator/environment.sh": TreeFile(_text("shared/environment.sh")),
        "coordinator/connection.sh": TreeFile(_text("coordinator/connection.sh")),
        "coordinator/app/pyproject.toml": _filled("app.toml", deployment),
        **{
            f"coordinator/{script}": TreeFile(_text(f"coordinator/{script}"), _EXECUTABLE)
            for script in ("superlink.sh", "register.sh", "check.sh", "run.sh")
        },
    }


def _site_files(deployment: Deployment, client: str, port: int) -> dict[str, TreeFile]:
    """Return the files for a client's machine, without keys."""
    values = {"client": client, "client_toml": toml_text(client), "own_port": str(port)}
    files = {
        "README.md": _filled("site.md", deployment, **values),
        "site.toml": replace(_filled("site.toml", deployment, **values), mode=_SECRET),
        "settings.sh": _filled("site/settings.sh", deployment, **values),
        "environment.sh": TreeFile(_text("shared/environment.sh")),
        "supernode.sh": TreeFile(_text("site/supernode.sh"), _EXECUTABLE),
    }
    return {f"sites/{deployment.directories[client]}/{name}": file for name, file in files.items()}


def _keys_and_certificates(deployment: Deployment) -> dict[str, TreeFile]:
    """Return the files by which machines trust each other."""
    authority = Authority()
    root = authority.sign_itself()
    server = authority.sign_server(dict.fromkeys([*(each.host for each in deployment.addresses), *_LOCAL_HOSTS]))
    files = {
        "authority/README.md": TreeFile(_text("authority.md")),
        "authority/ca.key": TreeFile(root.private, _SECRET),
        "authority/ca.crt": TreeFile(root.public),
        "coordinator/clients.toml": _filled("clients.toml", deployment),
        "coordinator/certificates/ca.crt": TreeFile(root.public),
        "coordinator/certificates/server.crt": TreeFile(server.public),
        "coordinator/certificates/server.key": TreeFile(server.private, _SECRET),
    }
    for slug in deployment.directories.values():
        pair = make_node_key()
        files[f"coordinator/keys/{slug}.pub"] = TreeFile(pair.public)
        files[f"sites/{slug}/ca.crt"] = TreeFile(root.public)
        files[f"sites/{slug}/client.key"] = TreeFile(pair.private, _SECRET)
    return files


def toml_text(text: str) -> str:
    """Write a text as a TOML string.

    >>> print(toml_text('a "b"'))
    "a \\"b\\""
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _filled(template: str, deployment: Deployment, **more: str) -> TreeFile:
    """Return a file whose template is filled with the values of the deployment, and with `more`."""
    address, target = deployment.addresses[0], deployment.target
    every_host, this_host = ("::", "::1") if ":" in address.host else ("0.0.0.0", "127.0.0.1")  # noqa: S104 (for sites)
    security = "insecure" if deployment.insecure else "secure"
    site_rows = [f"| {_cell(client)} | `sites/{slug}` |" for client, slug in deployment.directories.items()]
    values = {
        "version": __version__,
        "address": str(address),
        "listen": str(Address(this_host if address.is_loopback else every_host, address.port)),
        "control_port": str(deployment.control_port),
        "insecure": "yes" if deployment.insecure else "no",
        "clients_toml": toml_text(",".join(deployment.clients)),
        "target_line": '# target = "the column to predict"' if target is None else f"target = {toml_text(target)}",
        "keys_toml": "\n".join(
            f"{toml_text(client)} = {toml_text(f'keys/{slug}.pub')}" for client, slug in deployment.directories.items()
        ),
        "site_table": "\n".join(["| client | directory |", "|---|---|", *site_rows]),
        "security": _text(f"{security}.md").strip(),
        "site_security": _text(f"site_{security}.md").strip(),
    }
    return TreeFile(Template(_text(template)).substitute(values | more))


def _cell(text: str) -> str:
    """Escape a name for one cell of a Markdown table."""
    return re.sub(r"([\\|`*_<>\[\]#])", r"\\\1", " ".join(text.split()))


def _text(template: str) -> str:
    return package_files("comity.flower.deploy").joinpath("templates", *template.split("/")).read_text("utf-8")
