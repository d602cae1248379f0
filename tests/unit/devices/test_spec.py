"""Device names: how they are read, printed, compared and merged."""

from __future__ import annotations

import pytest

from situs._src.base.devices.spec import DeviceSpec, MutableDeviceSpec
from situs.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("/gpu:1", "/device:GPU:1"),
        ("cpu", "/device:CPU:*"),
        ("/device:GPU:3/job:w", "/job:w/device:GPU:3"),
        ("/job:w/task:1/task:2", "/job:w/task:2"),
        ("/device:Gpu:0", "/device:Gpu:0"),  # the long form keeps the case
        ("/Gpu:0", "/device:GPU:0"),
        ("", ""),
        ("/", ""),
        ("//cpu:0/", "/device:CPU:0"),
        ("/gpu: 0", "/device:GPU:0"),
        ("/gpu:007", "/device:GPU:7"),
        ("/gpu:-1", "/device:GPU:-1"),
        ("/gpu:*", "/device:GPU:*"),
        ("/device:gpu:0", "/device:GPU:0"),
        ("/device:FOO:0", "/device:FOO:0"),
        ("/job:1a", "/job:1a"),
        ("/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"),
    ],
)
def test_a_name_prints_in_canonical_form(text, canonical):
    assert DeviceSpec.from_string(text).to_string() == canonical
    assert DeviceSpec.parse_from_string(text).to_string() == canonical
    assert MutableDeviceSpec().parse_from_string(text).to_string() == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/job:w/gpu:1/cpu:0", "Multiple device types are not allowed while parsing the device spec"),
        ("/foo:1", "Unknown attribute 'foo' is encountered while parsing the device spec: '/foo:1'"),
        ("/gpu:x", r"invalid literal for int\(\) with base 10: 'x'"),
        ("/device:GPU", "Unknown attribute 'device'"),
        ("/device:", "Unknown attribute 'device'"),
        ("/gpu:0:1", "Unknown attribute 'gpu'"),
        ("/task:*", "invalid literal for int"),
        ("/physical_device:CPU:0", "Unknown attribute 'physical_device'"),
        (3, "Expecting a string device name"),
        (b"/cpu:0", "Expecting a string device name"),
    ],
)
def test_what_is_no_name_says_which_part(text, message):
    with pytest.raises(ValueError, match=message):
        DeviceSpec.from_string(text)


def test_merging_inherits_the_index_on_its_own():
    merged = DeviceSpec.from_string("/gpu:3").make_merged_spec(DeviceSpec.from_string("/device:CPU:*"))
    assert merged.to_string() == "/device:CPU:3"


def test_specs_are_equal_by_value_and_never_to_strings():
    spec = DeviceSpec(job="a")
    assert spec == DeviceSpec.from_string("/job:a")
    assert hash(spec) == hash(DeviceSpec.from_string("/job:a"))
    assert spec != DeviceSpec.from_string("/job:b")
    assert spec != "/job:a"


def test_a_spec_is_immutable_and_its_v1_form_is_not():
    with pytest.raises(AttributeError):
        DeviceSpec().job = "a"  # type: ignore[misc]
    mutable = MutableDeviceSpec()
    mutable.job, mutable.device_type, mutable.device_index = "a", "gpu", "2"
    assert mutable.to_string() == "/job:a/device:GPU:2"
    mutable.merge_from(DeviceSpec(task=4))
    assert mutable.task == 4
    mutable.job = None
    assert mutable.to_string() == "/task:4/device:GPU:2"


def test_the_constructor_coerces_and_refuses_a_star():
    assert DeviceSpec(job=3, replica="1", device_type="cpu", device_index="2").to_string() == (  # type: ignore[arg-type]
        "/job:3/replica:1/device:CPU:2"
    )
    with pytest.raises(InvalidArgumentError, match=r"device_index of a device spec is an integer, got '\*'"):
        DeviceSpec(device_index="*")  # type: ignore[arg-type]


def test_repr_shows_every_field():
    text = "<DeviceSpec(job=a, replica=None, task=None, device_type=GPU, device_index=2)>"
    assert repr(DeviceSpec(job="a", device_type="GPU", device_index=2)) == text
    assert str(DeviceSpec(job="a", device_type="GPU", device_index=2)) == text


def test_replace_exchanges_fields_and_refuses_unknown_ones():
    assert DeviceSpec(job="a").replace(job=None, task=1).to_string() == "/task:1"
    with pytest.raises(TypeError, match="no field 'foo'"):
        DeviceSpec().replace(foo=1)


def test_none_is_the_empty_spec():
    assert DeviceSpec.from_string(None) == DeviceSpec()


def test_an_index_without_a_type_prints_nothing():
    assert DeviceSpec(device_index=1).to_string() == ""


def test_a_pattern_matches_when_every_set_field_is_equal():
    device = DeviceSpec("localhost", 0, 0, "GPU", 1)
    for pattern, matches in {"/gpu:1": True, "/gpu": True, "": True, "/gpu:0": False, "/job:w": False}.items():
        assert DeviceSpec.from_string(pattern).matches(device) is matches
    assert not DeviceSpec.from_string("/device:Gpu:1").matches(device)


def test_completion_fills_from_the_local_cpu():
    full = "/job:localhost/replica:0/task:0/device:GPU:0"
    assert DeviceSpec.from_string("/gpu").completed().to_string() == full
    assert DeviceSpec.from_string("/task:3").completed().to_string() == "/job:localhost/replica:0/task:3/device:CPU:0"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DeviceSpec(replica="a"), "replica of a device spec is an integer, got 'a'"),
        (lambda: DeviceSpec(task=[]), "task of a device spec is an integer"),
        (lambda: DeviceSpec(device_index=float("inf")), "device_index of a device spec is an integer, got inf"),
        (lambda: setattr(MutableDeviceSpec(), "task", "a"), "task of a device spec is an integer"),
        (lambda: DeviceSpec().make_merged_spec("/gpu:0"), "merges with another one, got '/gpu:0'"),
        (lambda: DeviceSpec.parse_from_string([]), "Expecting a string device name"),
    ],
)
def test_fields_and_names_of_the_wrong_kind_are_refused(call, message):
    with pytest.raises(InvalidArgumentError, match=message):
        call()
