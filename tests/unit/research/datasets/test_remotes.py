"""What is fetched from the web is what was published, or nothing; every failure has one clear message."""

import hashlib
import http.server
import io
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from comity.errors import FormatError, InputError, OutputError
from comity.research.datasets import remotes as fetching
from comity.research.datasets.published import PublishedFile
from comity.research.datasets.remotes import REMOTES, Remote, download, download_members, fetch

RAW = bytes(range(256)) * 4000  # several parts
ONE = b"1, 2, 3\n"


def published(name: str, raw: bytes) -> PublishedFile:
    return PublishedFile(name, hashlib.sha256(raw).hexdigest(), len(raw))


def zipped(members: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, raw in members.items():
            archive.writestr(name, raw)
    return packed.getvalue()


FILE = published("data.bin", RAW)
FILES = {
    "/data.bin": RAW,
    "/one.csv": ONE,
    "/other/data.bin": RAW[:-1] + b"?",
    "/data.zip": zipped({"data.bin": RAW, "one.csv": ONE, "read.me": b"hello"}),
    "/other.zip": zipped({"data.bin": RAW, "one.csv": b"1, 2, 4\n"}),
    "/less.zip": zipped({"data.bin": RAW}),
    "/no.zip": b"this is a page that says sorry",
}


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the files; below /cut the connection ends early, below /redirect there is another address."""

    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        cut = self.path.startswith("/cut")
        raw = FILES.get(self.path.removeprefix("/cut"))
        if self.path.startswith("/redirect"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/redirect"))
            self.end_headers()
        elif raw is None:
            self.send_error(404)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw[: len(raw) // 2] if cut else raw)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server on this machine."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(Handler, "asked", [])
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()
        thread.join()


@pytest.mark.parametrize("place", ["", "/redirect"])
def test_a_file_is_fetched(server: str, place: str, tmp_path: Path) -> None:
    reports: list[tuple[str, int, int]] = []
    download(f"{server}{place}/data.bin", FILE, tmp_path, lambda *each: reports.append(each))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"data.bin": RAW}
    assert reports[-1] == ("fetching data.bin", len(RAW), len(RAW))
    assert len(reports) > 1


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("/other/data.bin", FormatError, r"is not the published data.bin \(its SHA-256 differs\), so it was not kept"),
        ("/one.csv", FormatError, r"is not the published data.bin \(it has 8 bytes instead of 1,024,000\)"),
        ("/cut/data.bin", FormatError, r"the connection was closed after 512,000 of 1,024,000 bytes; try again"),
        ("/gone", InputError, r"the server answers 404 \(Not Found\); try again later, or get data.bin elsewhere"),
    ],
)
def test_what_is_not_the_file_is_not_kept(
    server: str, place: str, error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=f"^{server}{place}: .*{message}"):
        download(f"{server}{place}", FILE, tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "data.bin").write_bytes(b"before")
    with pytest.raises(error):
        download(f"{server}{place}", FILE, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"data.bin": b"before"}


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/data.bin", "https://nowhere.invalid/data.bin"])
def test_no_network(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(InputError, match=rf"^{address}: cannot be fetched \(.+\); check this machine.s network"):
        download(address, FILE, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_only_the_web_is_asked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"file:///etc/passwd: this is not a web address"):
        download("file:///etc/passwd", FILE, tmp_path)


def test_a_full_disk_is_not_the_network(server: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"data.bin: cannot be written \(No such file or directory\)"):
        download(f"{server}/data.bin", FILE, tmp_path / "nowhere")


def test_members_of_an_archive(server: str, tmp_path: Path) -> None:
    download_members(f"{server}/data.zip", [FILE, published("one.csv", ONE)], tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"data.bin": RAW, "one.csv": ONE}


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        ("other.zip", r"is not the published one.csv \(its SHA-256 differs\)"),
        ("less.zip", r"this is not the expected archive \(.*one.csv.*\); try again later"),
        ("no.zip", r"this is not the expected archive \(File is not a zip file\)"),
        ("cut/data.zip", r"the connection was closed after"),
    ],
)
def test_another_archive_is_not_kept(server: str, archive: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"^{server}/{archive}: .*{message}"):
        download_members(f"{server}/{archive}", [FILE, published("one.csv", ONE)], tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["", "/data.zip"])
def test_a_data_set_goes_into_its_folder_and_is_fetched_once(
    server: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = (FILE, published("one.csv", ONE))
    monkeypatch.setitem(REMOTES, "adult", Remote(f"{server}{address}", files, "adult"))
    expected = (tmp_path / "data" / "adult" / "data.bin", tmp_path / "data" / "adult" / "one.csv")
    assert fetch("adult", tmp_path / "data") == expected
    assert [path.read_bytes() for path in expected] == [RAW, ONE]
    asked = len(Handler.asked)
    assert fetch("adult", tmp_path / "data" / "adult") == expected
    assert len(Handler.asked) == asked, "what is there and right is fetched again"
    expected[1].write_bytes(b"1, 2")
    fetch("adult", tmp_path / "data")
    assert expected[1].read_bytes() == ONE
    assert len(Handler.asked) == asked + 1


def test_what_cannot_be_fetched(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no data set 'mnist' to fetch; choose one of adult, cifar10, eicu"):
        fetch("mnist", tmp_path)
    with pytest.raises(InputError, match=r"apply at https://physionet.org/content/eicu-crd/2.0/"):
        fetch("eicu-full", tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"cannot be created .* give another directory"):
        fetch("adult", tmp_path / "file")


@pytest.mark.parametrize("name", list(REMOTES))
def test_the_places_are_those_of_the_publishers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, list[str]]] = []

    def note(address: str, files: PublishedFile | list[PublishedFile], *_: object) -> None:
        asked.append((address, [file.name for file in ([files] if isinstance(files, PublishedFile) else files)]))

    for function in ("download", "download_members"):
        monkeypatch.setattr(fetching, function, note)
    fetch(name, tmp_path)
    adult = [("https://archive.ics.uci.edu/static/public/2/adult.zip", ["adult.data", "adult.test"])]
    cifar10 = [("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", ["cifar-10-binary.tar.gz"])]
    demo = "https://physionet.org/files/eicu-crd-demo/2.0.1"
    tables = ("patient", "hospital", "admissionDx", "apacheApsVar", "lab", "nurseCharting", "respiratoryCharting",
              "vitalAperiodic", "vitalPeriodic")  # fmt: skip
    eicu = [(f"{demo}/{table}.csv.gz", [f"{table}.csv.gz"]) for table in tables]
    assert asked == {"adult": adult, "cifar10": cifar10, "eicu": eicu}[name]
