import numpy as np
import pytest

from comity.errors import FormatError
from comity.flower.transport.journal import Journal
from comity.questions import Describe, Description, FitAloneAnswer, Moments, Split, pack, unpack
from comity.questions.schema import ColumnSummary
from support.small_client import schema

QUESTION = pack(Moments(schema(), Split(), np.arange(6.0).reshape(2, 3)))


def test_an_answer_is_found_by_its_client_and_its_question(tmp_path):
    journal = Journal(tmp_path / "journal")
    answer = pack(FitAloneAnswer(np.ones((2, 3)), np.array([1e-3]), np.zeros(0)))
    assert journal.find("a", QUESTION) is None
    journal.keep("a", QUESTION, answer)
    found = journal.find("a", QUESTION)
    assert found.digest == answer.digest
    assert unpack(found).parameters.dtype == np.float64
    assert journal.find("b", QUESTION) is None
    other = pack(Moments(schema(), Split(), np.arange(6.0).reshape(3, 2)))
    assert journal.find("a", other) is None
    journal.clear()
    assert journal.find("a", QUESTION) is None


def test_answers_of_text_are_kept_too(tmp_path):
    journal, question = Journal(tmp_path), pack(Describe("died"))
    answer = Description(3, (ColumnSummary("é", "text", 3, 0, 2, levels={"ö": 2, "": 1}),))
    journal.keep("Übung, nº 1", question, pack(answer))
    assert unpack(journal.find("Übung, nº 1", question)) == answer


@pytest.mark.parametrize("spoil", [lambda raw: raw[:40], lambda raw: b"", lambda raw: b"PK" + raw[9:]])
def test_a_damaged_file_is_an_error(spoil, tmp_path):
    journal = Journal(tmp_path)
    journal.keep("a", QUESTION, pack(Description(3, ())))
    (file,) = tmp_path.iterdir()
    file.write_bytes(spoil(file.read_bytes()))
    with pytest.raises(FormatError, match="remove the file, and the client is asked again"):
        journal.find("a", QUESTION)
