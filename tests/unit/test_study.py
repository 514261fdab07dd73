"""Settings: what follows from what, and what is refused."""

from pathlib import Path

import pytest

from comity.errors import InputError
from comity.questions import Split
from comity.study import Study, StudyFile


def test_the_task_follows_from_the_metric() -> None:
    assert Study("y", metric="auc").task == "classes"
    assert Study("y", metric="r2").task == "regression"
    assert Study("y").task is None
    with pytest.raises(InputError, match="'auc' is not for the task 'regression', which has rmse, r2"):
        Study("y", task="regression", metric="auc")


def test_with_many_clients_rows_are_split_less_often() -> None:
    splits = [Study("y", search="spo").split(clients) for clients in (12, 24, 25, 301)]
    assert [(split.repeats, split.judges) for split in splits] == [(4, 10), (2, 10), (1, 5), (1, 3)]
    chosen = Study("y", search="spo", repeats=3, judges=4, folds=6, seed=9, resamples=2).split(1000)
    assert (chosen.repeats, chosen.judges, chosen.folds, chosen.seed, chosen.resamples) == (3, 4, 6, 9, 2)


def test_borrowing_deals_rows_once() -> None:
    assert Study("y", seed=9).split(1000) == Split(folds=5, repeats=1, judges=0, seed=9)
    assert Study("y", folds=3).split(2).folds == 3


def test_the_search_follows_from_the_model() -> None:
    assert Study("y").search == "borrow"
    assert Study("y", model="mlp").search == "spo"


def test_columns_that_are_needed_cannot_be_excluded() -> None:
    with pytest.raises(InputError, match="column 'y' is needed"):
        Study("y", exclude=("y",))
    with pytest.raises(InputError, match="column 'c' is needed"):
        Study("y", client="c", exclude=("c",))
    with pytest.raises(InputError, match="cannot be both the target and the client of each row"):
        Study("y", client="y")


def test_a_setting_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="no setting 'fold'; did you mean 'folds'"):
        Study.from_mapping({"target": "y", "fold": 3})
    with pytest.raises(InputError, match="there is no target; say which column to predict: target=…"):
        Study.from_mapping({"folds": 3})


def test_paths_in_a_file_begin_there(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('source = "t.csv"\nout = "/run"\nexclude = ["a"]\n')
    assert StudyFile.read(str(tmp_path / "s.toml")) == StudyFile({"exclude": ["a"]}, tmp_path / "t.csv", Path("/run"))
