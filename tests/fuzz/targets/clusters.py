"""Clusters as the environment names them: ``TF_CONFIG``, torchrun's variables, and Slurm's."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import situs as tf
from situs._src.distribute.cluster_resolver import resolve
from tests.fuzz.case import Case, require
from tests.fuzz.mutation import mutated_data, mutated_text

CONFIGS: list[Any] = [
    {"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}},
    {"cluster": {"chief": ["a:1"], "worker": {"0": "b:2", "7": "c:3"}, "ps": ["p:9"]}, "task": {"type": "chief"}},
    {"cluster": {"worker": ["[::1]:80"]}, "task": {"type": "worker", "index": 0}, "rpc_layer": "grpc"},
    {"session_master": "local", "environment": "cloud"},
]
LAUNCHED = {"RANK": "1", "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
SLURM = {
    "SLURM_PROCID": "3",
    "SLURM_STEP_NUM_TASKS": "6",
    "SLURM_STEP_NODELIST": "n[1-2,08],m",
    "SLURM_STEP_TASKS_PER_NODE": "2,1(x2),2",
    "CUDA_VISIBLE_DEVICES": "0,1",
}
MOST = 100_000  # characters of an address that is asked for


class Clusters:
    """Cases of environments that name clusters; nothing is connected to."""

    def __init__(self, folder: Path) -> None:
        tf.config.list_logical_devices(), tf.constant(1.0)  # loads PyTorch, which takes longer than a case may
        names = {"TF_CONFIG", *LAUNCHED, *SLURM}
        self._clean = {name: value for name, value in os.environ.items() if name not in names}

    def case(self, random: Random) -> Case:
        """What one of the three would say, damaged."""
        sort = random.randrange(3)
        if sort == 0:
            seed = random.choice(CONFIGS)
            text = json.dumps(mutated_data(random, seed) if random.random() < 0.7 else seed)
            given = {"TF_CONFIG": _text(random, text)}
        else:
            given = {name: _text(random, value) for name, value in (LAUNCHED if sort == 1 else SLURM).items()}
            if random.random() < 0.2:
                given.pop(random.choice(sorted(given)))
        ask = _slurm if sort == 2 else _resolved
        return Case(f"{ask.__name__} {given!a}", lambda: self._asked(ask, given))

    def _asked(self, ask: Any, given: dict[str, str]) -> None:
        before = dict(os.environ)
        try:
            os.environ.clear()
            os.environ.update(self._clean | given)
            ask()
        finally:
            os.environ.clear()
            os.environ.update(before)


def _text(random: Random, seed: str) -> str:
    text = seed if random.random() < 0.6 else mutated_text(random, seed, list(SLURM.values()))
    return text.replace("\0", "0").encode("utf-8", "replace").decode()[:20_000]


def _resolved() -> None:
    _read(resolve())


def _slurm() -> None:
    _read(tf.distribute.cluster_resolver.SlurmClusterResolver())


def _read(found: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    cluster = found.cluster_spec()
    require(tf.train.ClusterSpec(cluster.as_dict()) == cluster, "a cluster is what it says it is")
    require(len(found.master()) < MOST, "an address")
    tf.config.experimental, found.task_type, found.task_id, found.num_accelerators()
