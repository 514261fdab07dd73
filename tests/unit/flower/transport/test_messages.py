"""Questions and answers come out of Flower's messages as they went in."""

from __future__ import annotations

import json

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from comity.errors import FormatError
from comity.flower.transport.messages import from_content, texts_in, to_content
from comity.questions import Packed

TYPES = st.sampled_from([np.float64, np.float32, np.int64, np.bool_, np.uint64])
ARRAYS = arrays(TYPES, array_shapes(min_dims=0, min_side=0, max_side=3))


@given(st.dictionaries(st.text(min_size=1), ARRAYS, max_size=4), st.text())
def test_a_message_is_read_back(values: dict[str, np.ndarray], plain: str) -> None:
    packed = Packed("Moments", plain, values)
    content = to_content(packed, client="a")
    assert from_content(content).digest == packed.digest
    assert texts_in(content)["client"] == "a"
    for array in from_content(content).arrays.values():
        array[...] = 0  # it is the receiver's own


def test_large_values_are_sent_as_an_array() -> None:
    packed = Packed("Moments", "{}", {"a": np.arange(200_000.0), "b": np.array([True])})
    content = to_content(packed)
    assert len(content.array_records) == 1
    assert from_content(content).digest == packed.digest
    content["values"] = ArrayRecord({"values": Array(np.zeros(3, np.uint8))})
    with pytest.raises(FormatError, match="the arrays of the message cannot be read"):
        from_content(content)
    del content["values"]
    with pytest.raises(FormatError, match="the arrays of the message cannot be read"):
        from_content(content)


@pytest.mark.parametrize(
    "layout",
    [
        "",
        "7",
        "[7]",
        '[["a", "<f8", [3]]]',
        '[["a", "<f8", [-1]]]',
        '[["a", "nonsense", [2]]]',
        '[["a", "O", [2]]]',
        '[["a", "f8,,", [2]]]',
        '[["a", "<f8", [99999999999999999999999]]]',
        "[" * 100_000,
        "[]",
    ],
)
def test_an_invalid_layout_is_an_error(layout: str) -> None:
    content = to_content(Packed("Moments", "{}", {"a": np.zeros(2)}))
    content.config_records["texts"]["layout"] = layout
    with pytest.raises(FormatError, match="the arrays of the message cannot be read"):
        from_content(content)


@pytest.mark.parametrize("name", ["kind", "plain", "layout"])
@pytest.mark.parametrize("value", [None, 7])
def test_a_missing_text_is_an_error(name: str, value: object) -> None:
    content = to_content(Packed("Moments", json.dumps({}), {}))
    texts = content.config_records["texts"]
    if value is None:
        del texts[name]
    else:
        texts[name] = value
    with pytest.raises(FormatError, match=f"the message has no {name}"):
        from_content(content)
