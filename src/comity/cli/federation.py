"""``comity federation``: set up and check a deployment over Flower."""

import click


@click.group(short_help="Set up a federation of machines over Flower.")
def federation() -> None:
    """Set up and check a federation over Flower, in which every client is a machine."""


@federation.command(
    short_help="Write a complete deployment: certificates, keys, scripts, READMEs.",
    epilog="""\b
Examples:
  comity federation init trial/ --clients north,south,east --target died
  comity federation init study/ --clients north,south,east --target died \\
      --address coordinator.example:9092""",
)
@click.argument("directory", type=click.Path())
@click.option("--clients", required=True, metavar="A,B,C", help="The clients' names, separated by commas.")
@click.option("--target", metavar="COLUMN", help="The column to predict; can also be set later, in study.toml.")
@click.option(
    "--address",
    "addresses",
    multiple=True,
    metavar="HOST:PORT",
    help="Where sites reach the coordinator. May be repeated for its other names: sites use the first, the certificate "
    "is valid for all. Default: localhost:9092.",
)
@click.option("--control-port", type=int, help="The coordinator's port for starting runs. Default: --address plus 1.")
@click.option("--site-port", type=int, help="The first site's local port; the others follow. Default: the next one.")
@click.option("--insecure", is_flag=True, help="No encryption, no keys, anybody can join: for trials on one machine.")
def init(
    directory: str,
    clients: str,
    target: str | None,
    addresses: tuple[str, ...],
    control_port: int | None,
    site_port: int | None,
    insecure: bool,
) -> int:
    """Write a complete deployment into DIRECTORY, which must be new or empty.

    coordinator/ is for the coordinator's machine, sites/ has a directory for each client's machine, and authority/ has
    the key that signs certificates, to be kept offline. Each has a README.md to follow.

    Exit status: 0 written, 2 bad input.
    """
    from comity.core.extras import require

    require("cryptography", "to make certificates and keys")
    from comity.flower.deploy.addresses import PORT, read_address
    from comity.flower.deploy.deployment import Deployment, write_deployment

    read = tuple(read_address(address) for address in addresses or (f"localhost:{PORT}",))
    control = read[0].port + 1 if control_port is None else control_port
    deployment = Deployment(
        clients=tuple(name.strip() for name in clients.split(",")),
        target=target,
        addresses=read,
        control_port=control,
        site_port=max(read[0].port, control) + 1 if site_port is None else site_port,
        insecure=insecure,
    )
    write_deployment(directory, deployment)
    if insecure:
        click.echo(
            "Warning: INSECURE: nothing is encrypted, and anybody can join. For trials on one machine.", err=True
        )
    click.echo(f"Written to {directory}: a coordinator and {len(deployment.clients)} sites. Begin with its README.md.")
    return 0


@federation.command(
    short_help="Check a deployment before a run.",
    epilog="""\b
Examples:
  comity federation check sites/north      at a site: its file, its rows, the connection to the coordinator
  comity federation check coordinator      at the coordinator: connected clients, columns, policies""",
)
@click.argument("directory", type=click.Path())
def check(directory: str) -> int:
    """Check one side of a deployment that comity federation init wrote; nothing is trained.

    DIRECTORY is that of a site, on its machine, or that of the coordinator, where the SuperLink is running.

    Exit status: 0 everything fits, 1 something does not, 2 bad input.
    """
    import subprocess
    from pathlib import Path

    from comity.core.extras import require
    from comity.errors import ComityError, FormatError

    place = Path(directory)
    if (place / "check.sh").exists():
        return subprocess.run([str(place / "check.sh")], check=False).returncode  # noqa: S603
    if not (place / "site.toml").exists():
        raise FormatError(
            f"{directory}: there is neither a site.toml nor a check.sh in it; give a directory that comity federation "
            "init wrote: sites/<client>, or coordinator"
        )
    require("flwr", "to take part in a federation")
    from comity.flower.deploy.site_check import check_site

    try:
        for line in check_site(place):
            click.echo(line)
    except ComityError as error:
        click.echo(f"Error: {error}", err=True)
        return 1
    click.echo("everything fits here")
    return 0
