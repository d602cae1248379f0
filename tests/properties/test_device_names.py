"""Properties of device names: printing and parsing are inverse, merging is lawful, nothing crashes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from situs._src.base.devices.spec import DeviceSpec, MutableDeviceSpec

numbers = st.one_of(st.none(), st.integers(0, 10**6))
jobs = st.one_of(st.none(), st.text("abcwps_01", min_size=1))
types = st.sampled_from(["CPU", "GPU", "TPU", "Gpu", "FOO"])


@st.composite
def specs(draw: st.DrawFn) -> DeviceSpec:
    device_type = draw(st.one_of(st.none(), types))
    index = draw(numbers) if device_type is not None else None
    return DeviceSpec(draw(jobs), draw(numbers), draw(numbers), device_type, index)


@given(specs())
def test_parsing_what_was_printed_gives_the_spec_back(spec):
    assert DeviceSpec.from_string(spec.to_string()) == spec


@given(specs(), st.randoms(use_true_random=False))
def test_the_order_of_pieces_does_not_matter(spec, random):
    pieces = [piece for piece in spec.to_string().split("/") if piece]
    random.shuffle(pieces)
    assert DeviceSpec.from_string("/".join(pieces)) == spec


@given(specs(), specs(), specs())
def test_merging_is_associative_with_the_empty_spec_as_unit(a, b, c):
    assert a.make_merged_spec(b).make_merged_spec(c) == a.make_merged_spec(b.make_merged_spec(c))
    assert a.make_merged_spec(DeviceSpec()) == a == DeviceSpec().make_merged_spec(a)


@given(specs(), specs())
def test_a_merge_is_matched_by_the_spec_that_won(a, b):
    assert b.matches(a.make_merged_spec(b))


@given(specs(), specs())
def test_the_v1_merge_in_place_agrees(a, b):
    mutable = MutableDeviceSpec(*a._fields)
    mutable.merge_from(b)
    assert mutable.to_string() == a.make_merged_spec(b).to_string()


@given(st.text())
def test_any_text_parses_or_raises_value_error(text):
    try:
        spec = DeviceSpec.from_string(text)
    except ValueError:
        return
    assert DeviceSpec.from_string(spec.to_string()).to_string() == spec.to_string()
