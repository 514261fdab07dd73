"""A site looks at the app that it was sent, and runs comity's only."""

import io
import zipfile

import pytest

from comity.errors import RefusedError
from comity.flower.deploy.supernode import check_app

GOOD = """
[tool.flwr.app.components]
serverapp = "comity.flower.server_app:app"
clientapp = "comity.flower.client_app:app"
"""


def bundle(*files: tuple[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files:
            archive.writestr(name, text)
    return buffer.getvalue()


def test_comitys_app_is_accepted() -> None:
    check_app(bundle(("pyproject.toml", GOOD), (".info/CONTENT", "x")))


@pytest.mark.parametrize(
    "name",
    [
        "a.py",
        "numpy/__init__.py",
        "comity/flower/client_app.py",
        ".info/../a.py",
        ".info/a.py",
        "x.pth",
        "../x",
        "/x",
        "x/",
    ],
)
def test_an_app_with_another_file_is_refused(name: str) -> None:
    with pytest.raises(RefusedError, match="more than settings"):
        check_app(bundle(("pyproject.toml", GOOD), (name, "")))


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_an_app_with_two_settings_files_is_refused() -> None:
    """Flower might read the other ones."""
    with pytest.raises(RefusedError, match="more than settings"):
        check_app(bundle(("pyproject.toml", "x"), ("pyproject.toml", GOOD)))


@pytest.mark.parametrize(
    "settings",
    [
        GOOD.replace("client_app", "other"),
        GOOD + 'agentapp = "os:app"\n',
        "[tool.flwr.app.components]\n",
    ],
)
def test_an_app_with_other_components_is_refused(settings: str) -> None:
    with pytest.raises(RefusedError, match="not comity's"):
        check_app(bundle(("pyproject.toml", settings)))


@pytest.mark.parametrize(
    "raw", [b"", b"x", bundle(), bundle(("pyproject.toml", "=")), bundle(("pyproject.toml", "a = 1"))]
)
def test_an_app_that_cannot_be_read_is_refused(raw: bytes) -> None:
    with pytest.raises(RefusedError, match="cannot be read"):
        check_app(raw)
