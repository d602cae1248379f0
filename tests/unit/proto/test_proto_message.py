"""Messages: presence, assignment, copying, equality. What is expected was recorded from TensorFlow 2.21's messages."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest

from situs.errors import DataLossError, DTypeError, InvalidArgumentError
from situs.proto.config import ConfigProto, GPUOptions, RunOptions
from situs.proto.errors import FieldError
from situs.proto.graph import AttrValue, GraphDef, NodeDef
from situs.proto.message import Message
from situs.proto.stats import RunMetadata

GROWING = "gpu_options {\n  allow_growth: true\n}\n"


def test_a_new_message_prints_nothing_and_has_defaults():
    config = ConfigProto()
    assert (str(config), repr(config)) == ("", "")
    assert (config.placement_period, config.allow_soft_placement, list(config.device_filters)) == (0, False, [])


@pytest.mark.parametrize(
    "use",
    [
        lambda: ConfigProto(alow_soft_placement=True),
        lambda: setattr(ConfigProto(), "alow_soft_placement", True),
        lambda: ConfigProto().alow_soft_placement,
        lambda: ConfigProto().HasField("alow_soft_placement"),
        lambda: ConfigProto().ClearField("alow_soft_placement"),
    ],
)
def test_an_unknown_field_is_both_a_value_error_and_an_attribute_error_with_a_suggestion(use):
    with pytest.raises(FieldError, match=r'ConfigProto has no "alow_soft_placement" field. Did you mean') as caught:
        use()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, AttributeError)


def test_an_unknown_name_unlike_any_other_lists_the_fields():
    with pytest.raises(FieldError, match="Its fields are: per_process_gpu_memory_fraction, allocator_type"):
        GPUOptions(q=1)


def test_hasattr_and_getattr_with_default_work_for_unknown_names():
    assert not hasattr(ConfigProto(), "foo")
    assert getattr(ConfigProto(), "foo", 3) == 3


def test_a_message_takes_no_positional_arguments():
    with pytest.raises(DTypeError, match="No positional arguments allowed"):
        ConfigProto(3)


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("gpu_options", GPUOptions(), r"\.gpu_options\.CopyFrom"),
        ("device_filters", ["a"], "in place"),
        ("device_count", {"CPU": 1}, "in place"),
    ],
)
def test_messages_lists_and_maps_cannot_be_assigned(name, value, hint):
    with pytest.raises(AttributeError, match=f'Assignment not allowed to .*"{name}".*{hint}'):
        setattr(ConfigProto(), name, value)


def test_fields_cannot_be_deleted():
    with pytest.raises(AttributeError, match="Cannot delete field attribute"):
        del ConfigProto().gpu_options


def test_constants_cannot_be_assigned():
    with pytest.raises(AttributeError, match="has no"):
        RunOptions().FULL_TRACE = 1


def test_none_in_the_constructor_means_not_set_but_cannot_be_assigned():
    assert ConfigProto(gpu_options=None, placement_period=None, device_filters=None) == ConfigProto()
    with pytest.raises(TypeError):
        ConfigProto().placement_period = None


class TestPresence:
    def test_reading_inside_a_nested_message_does_not_set_it(self):
        config = ConfigProto()
        assert config.gpu_options.experimental.use_unified_memory is False
        assert not config.HasField("gpu_options")
        assert config == ConfigProto()

    def test_setting_inside_a_nested_message_sets_it_and_all_around_it(self):
        config = ConfigProto()
        config.gpu_options.experimental.use_unified_memory = True
        assert config.HasField("gpu_options")
        assert config.gpu_options.HasField("experimental")

    def test_setting_a_default_sets_the_message_around_it(self):
        config = ConfigProto()
        config.gpu_options.allow_growth = False
        assert str(config) == "gpu_options {\n}\n"

    def test_the_nested_message_is_one_object(self):
        config = ConfigProto()
        options = config.gpu_options
        options.allow_growth = True
        assert config.gpu_options is options
        assert str(config) == GROWING

    @pytest.mark.parametrize(
        "change",
        [
            lambda m: m.step_stats.dev_stats.add(),
            lambda m: m.step_stats.dev_stats.extend([]),
            lambda m: m.step_stats.SetInParent(),
            lambda m: m.step_stats.CopyFrom(type(m.step_stats)()),
        ],
    )
    def test_every_change_inside_counts(self, change):
        metadata = RunMetadata()
        change(metadata)
        assert metadata.HasField("step_stats")

    def test_a_map_inside_counts(self):
        graph = GraphDef()
        graph.library.function.add().ret["y"] = "x:0"
        assert graph.HasField("library")

    def test_what_was_handed_out_before_clearing_goes_on_alone(self):
        config = ConfigProto()
        draft = config.gpu_options
        config.ClearField("gpu_options")
        draft.allow_growth = True
        assert str(config) == ""
        kept = config.gpu_options
        kept.allow_growth = True
        config.Clear()
        assert (str(config), str(kept)) == ("", "allow_growth: true\n")

    def test_scalars_outside_a_oneof_lists_and_maps_have_no_presence(self):
        for name in ("allow_soft_placement", "device_filters", "device_count"):
            with pytest.raises(ValueError, match="does not have presence"):
                ConfigProto().HasField(name)

    def test_assigning_the_default_unsets_a_scalar(self):
        config = ConfigProto(placement_period=3)
        config.placement_period = 0
        assert config == ConfigProto()


class TestOneof:
    @pytest.mark.parametrize(
        ("fields", "text"),
        [({"i": 0}, "i: 0\n"), ({"b": False}, "b: false\n"), ({"placeholder": ""}, 'placeholder: ""\n')],
    )
    def test_a_default_in_a_oneof_is_set(self, fields, text):
        assert str(AttrValue(**fields)) == text
        assert AttrValue(**fields).HasField(*fields)

    def test_the_last_one_set_wins(self):
        value = AttrValue(i=1, b=True)
        assert (value.WhichOneof("value"), value.i) == ("b", 0)
        value.shape.unknown_rank = True
        assert value.WhichOneof("value") == "shape"
        value.MergeFrom(AttrValue(f=2))
        assert str(value) == "f: 2\n"

    def test_reading_a_nested_one_sets_nothing(self):
        value = AttrValue(i=1)
        shape = value.shape
        assert value.WhichOneof("value") == "i"
        shape.unknown_rank = True
        assert value.WhichOneof("value") == "shape"

    def test_it_can_be_asked_for_and_cleared_by_its_name(self):
        value = AttrValue(list={"i": [3]})
        assert value.HasField("value")
        value.ClearField("value")
        assert not value.HasField("value")
        assert value.WhichOneof("value") is None

    def test_an_unknown_oneof_is_refused(self):
        with pytest.raises(ValueError, match='has no "valu" field'):
            AttrValue().WhichOneof("valu")


class TestCopying:
    def test_merge_replaces_scalars_grows_lists_and_merges_maps_and_messages(self):
        one = ConfigProto(device_filters=["a"], device_count={"CPU": 1}, placement_period=3)
        one.gpu_options.allocator_type = "BFC"
        other = ConfigProto(device_filters=["b"], device_count={"CPU": 2, "GPU": 1}, placement_period=4)
        other.gpu_options.allow_growth = True
        one.MergeFrom(other)
        assert one.device_filters == ["a", "b"]
        assert one.device_count == {"CPU": 2, "GPU": 1}
        assert one.placement_period == 4
        assert one.gpu_options == GPUOptions(allocator_type="BFC", allow_growth=True)

    def test_copy_from_replaces_everything_and_shares_nothing(self):
        source = ConfigProto(gpu_options={"allow_growth": True}, device_count={"CPU": 1})
        copied = ConfigProto(placement_period=4)
        copied.CopyFrom(source)
        source.gpu_options.allow_growth = False
        source.device_count["CPU"] = 9
        assert copied == ConfigProto(gpu_options={"allow_growth": True}, device_count={"CPU": 1})

    def test_copying_a_message_onto_itself_changes_nothing(self):
        config = ConfigProto(gpu_options={"allow_growth": True})
        config.CopyFrom(config)
        assert str(config) == GROWING

    def test_merging_a_message_with_itself_ends(self):
        node = NodeDef(input=["a"])
        node.MergeFrom(node)
        assert node.input == ["a", "a"]

    @pytest.mark.parametrize("method", ["CopyFrom", "MergeFrom"])
    @pytest.mark.parametrize("other", [3, None, RunOptions(), {"placement_period": 1}])
    def test_only_the_same_class_is_copied(self, method, other):
        with pytest.raises(TypeError, match=f"{method}.. must be instance of same class: expected ConfigProto"):
            getattr(ConfigProto(), method)(other)

    def test_the_constructor_copies_messages_and_builds_from_dicts(self):
        options = GPUOptions(allow_growth=True)
        config = ConfigProto(gpu_options=options)
        options.allow_growth = False
        assert config == ConfigProto(gpu_options={"allow_growth": True})
        assert ConfigProto(gpu_options={}).HasField("gpu_options")

    @pytest.mark.parametrize("wrong", [3, "x", RunOptions(), [GPUOptions()]])
    def test_a_nested_message_is_built_from_its_class_or_a_dict_only(self, wrong):
        with pytest.raises(TypeError, match=r"ConfigProto.gpu_options is a GPUOptions message; got a"):
            ConfigProto(gpu_options=wrong)

    def test_the_names_in_a_dict_are_strings(self):
        with pytest.raises(FieldError, match="names of fields are strings"):
            ConfigProto(gpu_options={3: 4})

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
    def test_copies_and_pickles_are_equal_and_independent(self, duplicate):
        node = NodeDef(name="é", input=["a"], attr={"s": {"s": b"\xff"}, "f": {"f": float("nan")}, "i": {"i": 2**62}})
        node.attr["l"].list.shape.add(unknown_rank=True)
        other = duplicate(node)
        assert other == node
        other.attr["l"].list.shape[0].unknown_rank = False
        assert node.attr["l"].list.shape[0].unknown_rank

    def test_nested_classes_can_be_pickled(self):
        devices = GPUOptions.Experimental.VirtualDevices(memory_limit_mb=[1024])
        assert pickle.loads(pickle.dumps(devices)) == devices


class TestEquality:
    def test_what_is_set_is_compared(self):
        assert ConfigProto(placement_period=1) == ConfigProto(placement_period=1)
        assert ConfigProto(placement_period=1) != ConfigProto(placement_period=2)
        assert ConfigProto(gpu_options={}) != ConfigProto()
        assert AttrValue(i=0) != AttrValue()

    def test_other_classes_are_never_equal(self):
        assert ConfigProto() != RunOptions()
        assert ConfigProto() != 3
        assert ConfigProto() != {}

    def test_nan_equals_nan(self):
        assert AttrValue(f=float("nan")) == AttrValue(f=float("nan"))

    def test_messages_are_not_hashable(self):
        with pytest.raises(TypeError):
            hash(ConfigProto())


class TestBytes:
    def test_they_are_json_and_come_back(self):
        config = ConfigProto(device_count={"GPU": 0, "CPU": 4}, gpu_options={"per_process_gpu_memory_fraction": 0.4})
        data = config.SerializeToString()
        assert data == b'{"device_count":{"CPU":4,"GPU":0},"gpu_options":{"per_process_gpu_memory_fraction":0.4}}'
        assert ConfigProto.FromString(data) == config

    def test_parsing_replaces_and_merging_adds(self):
        data = ConfigProto(device_filters=["b"]).SerializeToString()
        config = ConfigProto(device_filters=["a"])
        assert config.MergeFromString(data) == len(data)
        assert config.device_filters == ["a", "b"]
        assert config.ParseFromString(data) == len(data)
        assert config.device_filters == ["b"]

    def test_no_bytes_are_an_empty_message(self):
        assert ConfigProto.FromString(b"") == ConfigProto()

    @pytest.mark.parametrize("data", [b"\x0a\x07", b"\xff\xff", b"[]", b'{"a": 1}', b'{"placement_period": 1.5}', b"{"])
    def test_other_bytes_are_refused_and_change_nothing(self, data):
        config = ConfigProto(placement_period=1)
        with pytest.raises(DataLossError, match="wire format"):
            config.ParseFromString(data)
        assert config == ConfigProto(placement_period=1)

    def test_text_is_not_bytes(self):
        with pytest.raises(TypeError, match="read from bytes"):
            ConfigProto.FromString("{}")


def test_fields_are_listed_in_the_order_of_their_numbers():
    config = ConfigProto(
        session_inter_op_thread_pool=[{}], use_per_session_threads=True, device_filters=["a"], placement_period=3
    )
    listed = [field.name for field, _ in config.ListFields()]
    assert listed == ["placement_period", "device_filters", "use_per_session_threads", "session_inter_op_thread_pool"]


def test_many_threads_that_read_at_the_same_time_see_one_nested_message():
    config, seen = ConfigProto(), []
    barrier = threading.Barrier(8)

    def read() -> None:
        barrier.wait()
        seen.append(config.gpu_options)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(options) for options in seen}) == 1


def test_no_two_fields_of_a_message_share_a_number():
    classes = list(_all_messages(Message))
    assert len(classes) > 40
    for cls in classes:
        numbers = [field.number for field in cls._fields.values()]
        assert len(numbers) == len(set(numbers)), cls


def test_a_failed_assignment_leaves_the_old_value():
    config = ConfigProto(placement_period=1)
    with pytest.raises(InvalidArgumentError):
        config.placement_period = 2**40
    assert config.placement_period == 1


def _all_messages(cls):
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _all_messages(subclass)
