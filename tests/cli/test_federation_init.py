"""`comity federation init` writes a deployment that is complete, safe to hand out, and hard to get wrong."""

import datetime
import ipaddress
import os
import stat
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_ssh_private_key,
    load_ssh_public_key,
)
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError
from flwr.cli.build import build_fab_from_disk

from comity.errors import RefusedError
from comity.flower.deploy.supernode import check_app
from comity.study import StudyFile

Run = Callable[..., subprocess.CompletedProcess[str]]
ODD = ["north", 'St. John\'s "A"', "$(touch here); `x`", "Köln", "koln!", "東京", "-rf", "..", "a|b*", "${address}"]


def made(comity: Run, *more: str, clients: str = "north,south,east") -> Path:
    done = comity("federation", "init", "trial", "--clients", clients, *more)
    assert done.returncode == 0, done
    return Path("trial")


@pytest.fixture
def trial(comity: Run, tmp_path: Path) -> Path:
    return tmp_path / made(comity, "--target", "died")


def files(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def test_everything_is_there(trial: Path) -> None:
    site = ["README.md", "ca.crt", "client.key", "environment.sh", "settings.sh", "site.toml", "supernode.sh"]
    coordinator = ["README.md", "app/pyproject.toml", "check.sh", "clients.toml", "connection.sh", "environment.sh"]
    coordinator += ["register.sh", "run.sh", "settings.sh", "study.toml", "superlink.sh"]
    coordinator += [f"certificates/{name}" for name in ("ca.crt", "server.crt", "server.key")]
    coordinator += [f"keys/{name}.pub" for name in ("north", "south", "east")]
    assert files(trial) == sorted(
        [
            "README.md",
            *(f"authority/{name}" for name in ("README.md", "ca.crt", "ca.key")),
            *(f"coordinator/{name}" for name in coordinator),
            *(f"sites/{client}/{name}" for client in ("north", "south", "east") for name in site),
        ]
    )


def test_private_keys_are_for_their_owner_only(trial: Path) -> None:
    for path in trial.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        if path.suffix == ".key" or path.name == "site.toml":
            assert mode == 0o600, path
        elif path.suffix == ".sh" and path.name not in ("settings.sh", "environment.sh", "connection.sh"):
            assert mode & 0o700 == 0o700, path
        assert not mode & 0o022, f"{path} can be changed by others"


def test_each_private_key_is_in_one_place(trial: Path) -> None:
    keys = [path.read_bytes() for path in trial.rglob("*.key")]
    assert len(set(keys)) == len(keys) == 5
    secrets = [path.read_bytes() for path in trial.rglob("*") if path.is_file() and path.suffix != ".key"]
    assert not any(b"PRIVATE" in content for content in secrets)


def load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def verify(trial: Path, host: str, authority: Path | None = None) -> None:
    store = Store([load(authority or trial / "sites" / "north" / "ca.crt")])
    try:
        subject: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        subject = x509.DNSName(host)
    assert isinstance(subject, x509.DNSName | x509.IPAddress)
    verifier = PolicyBuilder().store(store).build_server_verifier(subject)
    verifier.verify(load(trial / "coordinator" / "certificates" / "server.crt"), [])


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_the_certificate_is_good_here(trial: Path, host: str) -> None:
    verify(trial, host)


@pytest.mark.parametrize("host", ["elsewhere.example", "127.0.0.2"])
def test_the_certificate_is_not_good_elsewhere(trial: Path, host: str) -> None:
    with pytest.raises(VerificationError):
        verify(trial, host)


def test_the_certificate_is_good_for_each_address(comity: Run, tmp_path: Path) -> None:
    more = ["--address", "Hub.Example:443", "--address", "192.0.2.7", "--address", "[2001:db8::7]:443"]
    trial = tmp_path / made(comity, *more)
    for host in ("hub.example", "192.0.2.7", "2001:db8::7", "localhost"):
        verify(trial, host)
    assert ': "${COMITY_ADDRESS:=hub.example:443}"' in (trial / "sites/north/settings.sh").read_text()
    assert ': "${COMITY_LISTEN:=0.0.0.0:443}"' in (trial / "coordinator/settings.sh").read_text()


def test_another_authority_did_not_sign(comity: Run, trial: Path, tmp_path: Path) -> None:
    assert comity("federation", "init", "other", "--clients", "a").returncode == 0
    with pytest.raises(VerificationError):
        verify(trial, "localhost", tmp_path / "other" / "authority" / "ca.crt")


def test_certificates_last_and_say_what_they_are_for(trial: Path) -> None:
    authority, server = load(trial / "authority/ca.crt"), load(trial / "coordinator/certificates/server.crt")
    now = datetime.datetime.now(datetime.UTC)
    for certificate in (authority, server):
        assert certificate.not_valid_before_utc < now < certificate.not_valid_after_utc
        assert certificate.not_valid_after_utc - now > datetime.timedelta(days=4 * 365)
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not server.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    key = load_pem_private_key((trial / "coordinator/certificates/server.key").read_bytes(), None)
    assert key.public_key() == server.public_key()
    assert load_pem_private_key((trial / "authority/ca.key").read_bytes(), None).public_key() == authority.public_key()


def test_the_registered_key_is_the_sites_own(trial: Path) -> None:
    for client, place in tomllib.loads((trial / "coordinator/clients.toml").read_text())["keys"].items():
        public = load_ssh_public_key((trial / "coordinator" / place).read_bytes())
        private = load_ssh_private_key((trial / "sites" / client / "client.key").read_bytes(), None)
        assert isinstance(private, EllipticCurvePrivateKey)
        assert isinstance(public, EllipticCurvePublicKey)
        assert public.curve.name == "secp384r1"
        own = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        assert own == public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)


def test_odd_names_are_kept_and_do_no_harm(comity: Run, tmp_path: Path) -> None:
    trial = tmp_path / made(comity, "--target", 'a "b" \\ c', clients=",".join(ODD))
    keys = tomllib.loads((trial / "coordinator/clients.toml").read_text("utf-8"))["keys"]
    assert list(keys) == ODD
    settings = tomllib.loads((trial / "coordinator/app/pyproject.toml").read_text("utf-8"))["tool"]["flwr"]["app"]
    assert settings["config"]["clients"].split(",") == ODD
    named = {}
    for site in (trial / "sites").iterdir():
        site_settings = tomllib.loads((site / "site.toml").read_text("utf-8"))
        named[site_settings["name"]] = site.name
        assert site_settings["target"] == 'a "b" \\ c'
        assert site.name.strip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") == ""
        assert not site.name.startswith(("-", "."))
        assert keys[site_settings["name"]] == f"keys/{site.name}.pub"
    assert sorted(named) == sorted(ODD)
    assert len({name.lower() for name in named.values()}) == len(ODD)
    scripts = {path.read_bytes() for path in trial.rglob("supernode.sh")}
    assert len(scripts) == 1, "no name goes into a script"
    for name in ODD[2:6]:
        assert all(name not in path.read_text("utf-8") for path in trial.rglob("*.sh"))


def test_scripts_are_shell(trial: Path) -> None:
    for script in trial.rglob("*.sh"):
        done = subprocess.run(["sh", "-n", script], capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode == 0, done.stderr
        if os.access(script, os.X_OK):
            assert "set -eu" in script.read_text()


def test_scripts_say_what_is_missing(trial: Path) -> None:
    """Without Flower's commands."""
    script = trial / "sites" / "north" / "supernode.sh"
    bare = {"PATH": "/usr/bin:/bin", "COMITY_PYTHON": "/nowhere/python"}
    done = subprocess.run([script], env=bare, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    assert "COMITY_PYTHON" in done.stderr


def test_site_says_what_may_be_asked(trial: Path) -> None:
    site_settings = tomllib.loads((trial / "sites" / "south" / "site.toml").read_text())
    assert site_settings == {
        "name": "south",
        "rows": "rows.csv",
        "target": "died",
        "log": "audit.jsonl",
        "received": "received",
        "policy": {"disclosure": 0.5, "least_rows": 10, "largest_answer": 67108864, "share_utilities": False},
    }


def test_study_can_be_read(comity: Run, trial: Path, tmp_path: Path) -> None:
    assert StudyFile.read(str(trial / "coordinator" / "study.toml")).settings == {"target": "died"}
    assert comity("federation", "init", "later", "--clients", "a,b").returncode == 0
    assert StudyFile.read(str(tmp_path / "later" / "coordinator" / "study.toml")).settings == {}
    assert "target" not in tomllib.loads((tmp_path / "later" / "sites" / "a" / "site.toml").read_text())


@pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")  # in Flower
def test_sites_run_this_app_and_no_other(trial: Path) -> None:
    app = trial / "coordinator" / "app"
    check_app(build_fab_from_disk(app))
    (app / "numpy.py").write_text("")
    with pytest.raises(RefusedError, match="more than settings"):
        check_app(build_fab_from_disk(app))
    (app / "numpy.py").unlink()
    settings = (app / "pyproject.toml").read_text()
    (app / "pyproject.toml").write_text(settings.replace("comity.flower.client_app:app", "os:app"))
    with pytest.raises(RefusedError, match="not comity's"):
        check_app(build_fab_from_disk(app))


def test_ports_are_told(comity: Run, tmp_path: Path) -> None:
    trial = tmp_path / made(comity, "--address", "localhost:7000", "--control-port", "7100", "--site-port", "7200")
    assert "127.0.0.1:7000" in (trial / "coordinator" / "settings.sh").read_text()
    assert "COMITY_CONTROL_PORT:=7100" in (trial / "coordinator" / "settings.sh").read_text()
    for number, client in enumerate(("north", "south", "east")):
        assert f"COMITY_PORT:={7200 + number}" in (trial / "sites" / client / "settings.sh").read_text()


def test_insecure_only_when_told_and_then_loudly(comity: Run, tmp_path: Path) -> None:
    done = comity("federation", "init", "trial", "--clients", "a,b", "--insecure")
    assert done.returncode == 0
    assert "Warning: INSECURE" in done.stderr
    trial = tmp_path / "trial"
    assert not [name for name in files(trial) if name.endswith((".key", ".crt", ".pub"))]
    for readme in ("README.md", "coordinator/README.md", "sites/a/README.md"):
        assert "INSECURE" in (trial / readme).read_text()
    for settings in trial.rglob("settings.sh"):
        assert "COMITY_INSECURE=yes" in settings.read_text()


def test_secure_says_nothing_of_insecure(trial: Path) -> None:
    assert not [path for path in trial.rglob("README.md") if "INSECURE" in path.read_text()]
    assert all("COMITY_INSECURE=no" in path.read_text() for path in trial.rglob("settings.sh"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--clients", ""], "empty name"),
        (["--clients", "a,,b"], "empty name"),
        (["--clients", "a,b,a"], "listed twice"),
        (["--clients", "North,north"], "look alike"),
        (["--clients", "a\x07"], "U+0007"),
        ([], "--clients"),
        (["--clients", "a", "--target", " "], "the name of a column"),
        (["--clients", "a", "--address", "two words:1"], "no valid host"),
        (["--clients", "a", "--address", "x;rm:1"], "no valid host"),
        (["--clients", "a", "--address", "$(x)"], "no valid host"),
        (["--clients", "a", "--address", "1.2.3.400"], "no valid host"),
        (["--clients", "a", "--address", ""], "no valid host"),
        (["--clients", "a", "--address", "hub:0"], "from 1 to 65535"),
        (["--clients", "a", "--address", "hub:65536"], "from 1 to 65535"),
        (["--clients", "a", "--address", "hub:"], "from 1 to 65535"),
        (["--clients", "a", "--address", "1::2::3"], "is not an address"),
        (["--clients", "a", "--address", "hub:65535"], "from 1 to 65535"),
        (["--clients", "a", "--control-port", "9092"], "--control-port"),
        (["--clients", "a,b", "--site-port", "9092"], "--site-port"),
        (["--clients", "a,b", "--site-port", "65535"], "from 1 to 65535"),
        (["--clients", "a", "--site-port", "x"], "--site-port"),
    ],
)
def test_bad_input(comity: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = comity("federation", "init", "trial", *arguments)
    assert done.returncode == 2, done
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir()), "nothing was written"


def test_what_is_there_is_not_touched(comity: Run, tmp_path: Path, trial: Path) -> None:
    before = {name: (trial / name).read_bytes() for name in files(trial)}
    done = comity("federation", "init", "trial", "--clients", "a,b")
    assert done.returncode == 2
    assert "which are kept" in done.stderr
    assert {name: (trial / name).read_bytes() for name in files(trial)} == before
    (tmp_path / "file").write_text("x")
    assert "is a file" in comity("federation", "init", "file", "--clients", "a").stderr
    (tmp_path / "empty").mkdir()
    assert comity("federation", "init", "empty", "--clients", "a").returncode == 0
    assert comity("federation", "init", "deep/down/here", "--clients", "a").returncode == 0
    assert comity("federation", "init", "", "--clients", "a").returncode == 2
