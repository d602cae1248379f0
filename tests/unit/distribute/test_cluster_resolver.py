"""Who the workers are: ``ClusterSpec`` and the resolvers. What is expected was recorded from TensorFlow 2.21."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

import situs as tf
from situs._src.distribute.cluster_resolver import (
    LaunchedClusterResolver,
    expand_hostlist,
    expand_tasks_per_node,
    resolve,
)
from situs._src.distribute.sharding import compute_batch_size
from situs._src.distribute.workers import Member, why_no_nccl

resolvers = tf.distribute.cluster_resolver
CLUSTER = {"worker": ["a:1", "b:2"], "ps": {1: "c:3"}}


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TF_CONFIG", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.setenv(name, "")  # what a test sets is undone after it
        monkeypatch.delenv(name)


def test_a_cluster() -> None:
    cluster = tf.train.ClusterSpec(CLUSTER)
    assert cluster.as_dict() == CLUSTER
    assert repr(cluster) == "ClusterSpec({'ps': {1: 'c:3'}, 'worker': ['a:1', 'b:2']})"
    assert (cluster.jobs, cluster.num_tasks("worker"), cluster.task_indices("ps")) == (["worker", "ps"], 2, [1])
    assert (cluster.task_address("ps", 1), cluster.job_tasks("ps")) == ("c:3", [None, "c:3"])
    assert cluster
    assert not tf.train.ClusterSpec({})
    for again in (tf.train.ClusterSpec(cluster), tf.train.ClusterSpec(cluster.as_cluster_def())):
        assert again == cluster
        assert again != tf.train.ClusterSpec({})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tf.train.ClusterSpec(3), TypeError, "must be a dictionary"),
        (lambda: tf.train.ClusterSpec({"worker": 3}), TypeError, "must be a list or a dictionary"),
        (lambda: tf.train.ClusterSpec({"worker": [3]}), TypeError, "must be bytes or unicode"),
        (lambda: tf.train.ClusterSpec({3: ["a:1"]}), TypeError, "must be bytes or unicode"),
        (lambda: tf.train.ClusterSpec(CLUSTER).num_tasks("other"), ValueError, "No such job in cluster: 'other'"),
        (lambda: tf.train.ClusterSpec(CLUSTER).task_address("ps", 0), ValueError, "No task with index 0 in job 'ps'"),
        (lambda: resolvers.SimpleClusterResolver({}), TypeError, "must be a `tf.train.ClusterSpec`"),
    ],
)
def test_what_is_no_cluster(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def config(**found: Any) -> str:
    return json.dumps(found)


def test_tf_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", config(cluster={"worker": ["a:1", "b:2"]}, task={"type": "worker", "index": "1"}))
    found = resolvers.TFConfigClusterResolver()
    assert (found.task_type, found.task_id, found.environment, found.rpc_layer) == ("worker", 1, None, None)
    assert found.cluster_spec() == tf.train.ClusterSpec({"worker": ["a:1", "b:2"]})
    assert (found.master(), found.master("worker", 0, "grpc")) == ("b:2", "grpc://a:1")
    other = resolvers.TFConfigClusterResolver(task_type="worker", task_id=0, rpc_layer="grpc")
    assert other.master() == "grpc://a:1"
    assert type(resolve()) is resolvers.TFConfigClusterResolver


def test_no_tf_config() -> None:
    found = resolvers.TFConfigClusterResolver()
    assert (found.task_type, found.task_id, found.master()) == (None, None, "")
    assert not found.cluster_spec()
    assert tf.distribute.MultiWorkerMirroredStrategy().cluster_resolver.task_type is None


@pytest.mark.parametrize("text", ["{", "[1]", '{"task": 3}'])
def test_a_tf_config_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match="TF_CONFIG"):
        resolvers.TFConfigClusterResolver()


@pytest.mark.parametrize(
    ("cluster", "task", "message"),
    [
        ({"worker": ["a:1", "b:1"], "ps": ["c:1"]}, {"type": "worker", "index": 0}, "no parameter servers"),
        ({"worker": ["a:1", "b:1"]}, {"type": "worker", "index": 2}, "which the cluster has not"),
        ({"worker": ["a:1", "b:1"]}, {}, "which the cluster has not"),
        ({"worker": ["nowhere", "b:1"]}, {"type": "worker", "index": 0}, "HOST:PORT"),
    ],
)
def test_clusters_that_cannot_be(monkeypatch: pytest.MonkeyPatch, cluster: Any, task: Any, message: str) -> None:
    monkeypatch.setenv("TF_CONFIG", config(cluster=cluster, task=task))
    with pytest.raises(ValueError, match=message):
        tf.distribute.MultiWorkerMirroredStrategy()


@pytest.mark.parametrize("task", [{"type": "evaluator", "index": 0}, {"type": "worker", "index": 0}])
def test_a_worker_alone(monkeypatch: pytest.MonkeyPatch, task: Any) -> None:
    monkeypatch.setenv("TF_CONFIG", config(cluster={"worker": ["a:1"], "evaluator": ["b:1"]}, task=task))
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    assert strategy.num_replicas_in_sync == len(tf.config.list_logical_devices("GPU"))
    assert strategy.extended.should_checkpoint
    assert float(strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0)))) == strategy.num_replicas_in_sync


def test_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "1", "WORLD_SIZE": "3", "MASTER_ADDR": "a", "MASTER_PORT": "5"}.items():
        monkeypatch.setenv(name, value)
    found = resolve()
    assert type(found) is LaunchedClusterResolver
    assert (found.task_type, found.task_id, found.cluster_spec().num_tasks("worker")) == ("worker", 1, 3)
    assert found.cluster_spec().task_address("worker", 0) == "a:5"
    monkeypatch.setenv("RANK", "3")
    with pytest.raises(ValueError, match="below WORLD_SIZE"):
        resolve()
    monkeypatch.delenv("MASTER_ADDR")
    with pytest.raises(RuntimeError, match="MASTER_ADDR is not set"):
        resolve()


def test_a_resolver_of_the_program() -> None:
    found = resolvers.SimpleClusterResolver(
        tf.train.ClusterSpec(CLUSTER), "m:1", "worker", 1, num_accelerators={"GPU": 3}, rpc_layer="grpc"
    )
    assert (found.master(), found.master("worker", 0), found.num_accelerators()) == (
        "grpc://m:1",
        "grpc://a:1",
        {"GPU": 3},
    )


def test_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    step = {
        "PROCID": "3",
        "STEP_NUM_TASKS": "5",
        "STEP_NODELIST": "t02n[13,41],t05n43",
        "STEP_TASKS_PER_NODE": "2(x2),1",
    }
    for name, value in step.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    found = resolvers.SlurmClusterResolver({"ps": 1, "worker": 4}, 9000, gpus_per_node=4, gpus_per_task=2)
    assert found.cluster_spec() == tf.train.ClusterSpec(
        {"ps": ["t02n13:9000"], "worker": ["t02n13:9001", "t02n41:9000", "t02n41:9001", "t05n43:9000"]}
    )
    assert found.get_task_info() == ("worker", 2)
    assert found.master() == "grpc://t02n41:9001"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert found.num_accelerators() == {"GPU": 2}
    whole = resolvers.SlurmClusterResolver(gpus_per_node=0).cluster_spec()
    assert whole.num_tasks("worker") == 5
    with pytest.raises(RuntimeError, match="more GPUs per node"):
        resolvers.SlurmClusterResolver(gpus_per_node=1, gpus_per_task=1)
    with pytest.raises(RuntimeError, match="Requested 2 tasks but only 5"):
        resolvers.SlurmClusterResolver({"worker": 2}, gpus_per_node=0)
    monkeypatch.delenv("SLURM_PROCID")
    with pytest.raises(RuntimeError, match="SLURM_PROCID not found in environment"):
        resolvers.SlurmClusterResolver()


@pytest.mark.parametrize("text", ["n[1", "n[a-b]", "n1]"])
def test_a_list_of_hosts_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match="hostlist"):
        expand_hostlist(text)


def test_lists_of_slurms() -> None:
    assert expand_hostlist("a,b[01-03,7],c[9]") == ["a", "b01", "b02", "b03", "b7", "c9"]
    assert expand_tasks_per_node("3(x2),2,1") == [3, 3, 2, 1]
    with pytest.raises(ValueError, match="tasks-per-node"):
        expand_tasks_per_node("3x2")


def test_options_of_communication() -> None:
    options = tf.distribute.experimental.CommunicationOptions
    kind = tf.distribute.experimental.CommunicationImplementation
    assert options(implementation="ring").implementation is kind.RING
    merged = options(5, 2.0, kind.NCCL).merged(options(7))
    assert (merged.bytes_per_pack, merged.timeout_seconds, merged.implementation) == (7, 2.0, kind.NCCL)
    for wrong in ({"bytes_per_pack": -1}, {"timeout_seconds": 0}, {"implementation": "MPI"}):
        with pytest.raises(ValueError, match=r"bytes_per_pack|timeout_seconds|implementation"):
            options(**wrong)


def test_the_size_of_batches_is_known_before_they_are_made() -> None:
    numbers = tf.data.Dataset.range(10)
    assert int(compute_batch_size(numbers.batch(4).prefetch(2))) == 4
    assert int(compute_batch_size(numbers.batch(4, drop_remainder=True))) == 4
    assert int(compute_batch_size(numbers)) == -1


def test_nccl_takes_a_card_for_each_worker() -> None:
    members = [Member("worker", number, f"10.0.0.{number}:1") for number in range(3)]
    assert why_no_nccl(members, ["a 1", "a 2", "b 1"], is_built_in=True) == ""
    assert "built without" in why_no_nccl(members, ["a 1", "a 2", "b 1"], is_built_in=False)
    shared = why_no_nccl(members, ["a 1", "b 1", "a 1"], is_built_in=True)
    assert shared == (
        "it does not support two processes on one GPU: /job:worker/task:0 (10.0.0.0:1) and "
        "/job:worker/task:2 (10.0.0.2:1) share one of a"
    )
