"""A client's set-up file: it is read, or one message says what is wrong with it."""

from pathlib import Path

import pytest
import torch

import comity
from comity.client import read_log
from comity.client.examples import DatasetClient
from comity.errors import RefusedError
from comity.questions import Describe
from support.small_client import rows

ALL = """
name = "North"
rows = "rows.csv"
target = "y"
log = "logs/audit.jsonl"
received = "mine"

[policy]
questions = ["describe", "moments", "evaluate", "privacy"]
least_rows = 15
largest_answer = 1_000_000
share_utilities = true

[privacy]
clip = 5
noise = 1.5
delta = 1e-5
epsilon = 8.0
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows().to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path


def written(place: Path, text: str) -> Path:
    (place / "site.toml").write_text(text)
    return place / "site.toml"


def test_a_site_with_everything(place: Path) -> None:
    site = comity.Site.read(written(place, ALL))
    assert (site.name, site.target, site.received, site.log) == (
        "North",
        "y",
        place / "mine",
        place / "logs/audit.jsonl",
    )
    assert site.policy == comity.Policy(
        ("describe", "moments", "evaluate", "privacy"), 15, 1_000_000, "y", share_utilities=True, disclosure=0.5
    )
    assert (site.privacy.clip, site.privacy.noise, site.privacy.delta, site.privacy.epsilon) == (5.0, 1.5, 1e-5, 8.0)
    site.log.parent.mkdir()
    member = site.member()
    assert isinstance(member, comity.Client)
    answer = member.answer(Describe("y"))
    assert (answer.rows, answer.private, answer.shares_utilities) == (20, True, True)
    assert [line.question for line in read_log(site.log)] == ["describe"]


def test_a_site_with_little(place: Path) -> None:
    site = comity.Site.read(str(written(place, 'name = "North"\nrows = "rows.csv"\n')))
    assert (site.target, site.privacy, site.policy) == (None, None, comity.Policy(disclosure=0.5))
    assert (site.log, site.received) == (place / "audit.jsonl", place / "received")
    site.member().answer(Describe("z"))
    assert len(read_log(place / "audit.jsonl")) == 1


def test_the_mark_changes_with_the_file_of_the_rows(place: Path) -> None:
    site = comity.Site.read(written(place, 'name = "North"\nrows = "rows.csv"\n'))
    before = site.mark()
    assert site.mark() == before
    rows(21).to_csv(place / "rows.csv", index=False)
    assert site.mark() != before


def test_a_site_reads_parquet(place: Path) -> None:
    rows().to_parquet(place / "rows.parquet")
    site = comity.Site.read(written(place, 'name = "North"\nrows = "rows.parquet"\n'))
    assert len(site.member().rows) == 20


BASE = 'name = "North"\nrows = "rows.csv"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = North", "site.toml: not TOML"),
        ("", "site.toml: there is nothing in it"),
        ('rows = "rows.csv"', "there is no name; say which client this is"),
        ('name = 3\nrows = "rows.csv"', "a client's name must be text, not 3"),
        ('name = " "\nrows = "rows.csv"', "the empty name"),
        (
            'name = "North"',
            'there are neither rows nor a factory; give one: rows = "file.csv" or factory = "module:function"',
        ),
        (BASE + 'factory = "a:b"', "there are both rows and a factory; give one"),
        ('name = "North"\nrows = ["rows.csv"]', r"rows is \['rows.csv'\]; it must be a path"),
        ('name = "North"\nrows = ""', "rows is ''; it must be a path"),
        ('name = "North"\nfactory = "module"', "factory is 'module'; it must be \"module:function\""),
        ('name = "North"\nfactory = "a b:c"', "factory is 'a b:c'"),
        (BASE + "target = 1", "toml: target is 1; it must be the name of a column"),
        (BASE + "log = false", "log is False; it must be a path"),
        (BASE + 'received = ""', "received is ''"),
        (BASE + 'recieved = "x"', "there is no setting 'recieved'; did you mean 'received'"),
        (BASE + "zzz = 1", "there is no setting 'zzz'; there are name, rows"),
        (BASE + 'policy = "open"', r"policy is 'open'; it must be a table: \[policy\]"),
        (BASE + "privacy = 3", r"privacy is 3; it must be a table: \[privacy\]"),
        (BASE + "[policy]\nleast_row = 3", r"\[policy\] there is no setting 'least_row'; did you mean 'least_rows'"),
        (BASE + '[policy]\ntarget = "y"', r"\[policy\] there is no setting 'target'"),
        (BASE + "[policy]\nleast_rows = 2.5", r"\[policy\] least_rows is 2.5"),
        (BASE + '[policy]\nquestions = ["momints"]', r"\[policy\] there is no question 'momints'; did you mean"),
        (BASE + "[policy]\nlargest_answer = -1", r"\[policy\] largest_answer is -1"),
        (BASE + "[policy]\ndisclosure = 0", r"\[policy\] disclosure is 0; it must be a number, more than 0, or inf"),
        (BASE + '[policy]\nshare_utilities = "no"', r"\[policy\] share_utilities is 'no'"),
        (BASE + "[policy]\nonly_private = true", r"\[policy\] only_private is true and there is no noise"),
        (BASE + "[privacy]\nclipp = 1", r"\[privacy\] there is no setting 'clipp'; did you mean 'clip'"),
        (BASE + "[privacy]\ngenerator = 1", r"\[privacy\] there is no setting 'generator'"),
        (BASE + "[privacy]\nnoise = 1.0", r"\[privacy\] noise needs a clip; .*: clip = …"),
        (BASE + '[privacy]\nclip = "1"', r"\[privacy\] clip is '1'; it must be a number"),
        (BASE + "[privacy]\nclip = nan", r"\[privacy\] clip is nan"),
        (
            BASE + "[privacy]\nclip = 1.0\nnoise = 1.0\ndelta = 0.9",
            r"\[privacy\] delta is 0.9; it must be a small probability",
        ),
        (BASE + "[privacy]\nclip = 1.0\nepsilon = 1.0", r"\[privacy\] the limit of epsilon, 1, needs noise"),
    ],
)
def test_a_message_names_the_file_and_what_is_wrong(text: str, message: str, place: Path) -> None:
    with pytest.raises(comity.InputError, match=message) as error:
        comity.Site.read(written(place, text))
    assert "site.toml" in str(error.value)


def test_missing_files(place: Path) -> None:
    with pytest.raises(comity.InputError, match="there is no such file"):
        comity.Site.read(place / "nothing.toml")
    site = comity.Site.read(written(place, 'name = "North"\nrows = "row.csv"\n'))
    with pytest.raises(comity.InputError, match=r"row\.csv: there is no such file"):
        site.member()
    site = comity.Site.read(written(place, BASE + 'target = "yy"\n'))
    with pytest.raises(
        comity.InputError, match=r"site\.toml: there is no column 'yy' in .*the columns are .* \(did you mean 'y'"
    ):
        site.member()
    site = comity.Site.read(written(place, BASE + 'log = "nowhere/log"\n'))
    with pytest.raises(RefusedError, match=r"its log .* cannot be written"):
        site.member()


FACTORY = """
import torch
from torch import nn
from comity.client.examples import DatasetClient

def examples(site):
    return DatasetClient(site.name, (torch.ones(20, 2), torch.zeros(20)), nn.Linear(2, 1), "squared")

def another(site):
    return DatasetClient("South", (torch.ones(20, 2), torch.zeros(20)), nn.Linear(2, 1), "squared")

def nothing(site):
    return 3

number = 3
"""


def test_a_factory_makes_the_client_and_the_file_sets_its_rules(place: Path) -> None:
    (place / "north_examples.py").write_text(FACTORY)
    text = 'name = "North"\nfactory = "north_examples:{}"\n[policy]\nleast_rows = 5\n[privacy]\nclip = 1.0\nnoise = 1.0'
    member = comity.Site.read(written(place, text.format("examples"))).member()
    assert isinstance(member, DatasetClient)
    assert member.policy.least_rows == 5
    assert member.privacy.noise == 1.0
    assert member.answer(Describe("target")).rows == 20
    assert len(read_log(place / "audit.jsonl")) == 1
    assert torch.equal(member._examples[0], torch.ones(20, 2))
    for name, message in (
        ("another", "returns a client named 'South', and the site's name is 'North'"),
        ("nothing", "returns 3; it must return a Client or a DatasetClient"),
        ("number", "there is no function 'number'"),
        ("missing", "there is no function 'missing'"),
    ):
        with pytest.raises(comity.InputError, match=message):
            comity.Site.read(written(place, text.format(name))).member()
    with pytest.raises(comity.InputError, match="the factory 'no_such_module:f' cannot be imported"):
        comity.Site.read(written(place, 'name = "North"\nfactory = "no_such_module:f"')).member()


def test_sites_make_a_federation(place: Path) -> None:
    members = []
    for name in ("North", "South"):
        (place / name).mkdir()
        rows(60).to_csv(place / name / "rows.csv", index=False)
        (place / name / "site.toml").write_text(f'name = "{name}"\nrows = "rows.csv"\ntarget = "y"\n')
        members.append(comity.Site.read(place / name / "site.toml").member())
    result = comity.solve(comity.InProcess(tuple(members)), target="y")
    assert result.clients == ("North", "South")
    asked = [line.question for line in read_log(place / "North" / "audit.jsonl")]
    assert asked == ["describe", "moments", "evaluate", "privacy"]
    with pytest.raises(RefusedError, match="client 'North' answers questions about the target 'y'"):
        comity.solve(comity.InProcess(tuple(members)), target="z")
