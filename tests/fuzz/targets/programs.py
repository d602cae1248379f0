"""Programs for ``situs run``: sources that are damaged, read for their style and for what they lack, and odd ones, run.

Reading is done in this process, and runs nothing. One case of fifty runs in a process of its own: programs that end,
fail, and leave things behind in every way that Python has. Such a case must end with the program's own status.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from random import Random

from situs._src.as_tensorflow import install, missing, roots
from situs._src.as_tensorflow.dialect import dialect_of
from tests.fuzz.case import IN_OWN, Case, require
from tests.fuzz.mutation import mutated_bytes, mutated_text

ROOT = Path(__file__).parents[3]
_IN_OWN = 50
SOURCES = [
    "import tensorflow as tf\nx = tf.constant([1.0, 2.0])\nprint(tf.reduce_sum(x * 2).numpy())\n",
    "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\nwith tf.Session() as s:\n    s.run(tf.ones([2]))\n",
    "from tensorflow.keras import layers, models\nmodels.Sequential([layers.Dense(2)]).build([None, 3])\n",
    "import tensorflow as tf\nfrom tensorflow.python.ops import array_ops\ntf.placeholder(tf.float32)\ntf.no.name\n",
    "# -*- coding: latin-1 -*-\nimport tensorflow as tf\ntf.app.flags.DEFINE_string('a', '\xe9', 'b')\n",
]
ODD = {  # a program, and the status that it ends with; None for any
    "": 0,
    "import sys; sys.exit(7)": 7,
    "import sys; sys.exit('words')": 1,
    "raise KeyboardInterrupt": 130,
    "raise BaseException('odd')": 1,
    "import os; os._exit(5)": 5,
    "def f(): f()\nf()": 1,
    "class E(Exception):\n    def __str__(self): raise self\nraise E": 1,
    "import sys; sys.stderr = sys.stdout = None; raise ValueError": 1,
    "import sys; sys.modules.clear()": None,
    "import os, sys; os.unlink(sys.argv[0]); import tensorflow as tf; tf.ones(2); raise ValueError": 1,
    "import os, tempfile; os.chdir(tempfile.mkdtemp()); import tensorflow as tf; tf.ones(2)": 0,
    "import threading; threading.Thread(target=lambda: 1 / 0).start()": 0,
    "import os\nif os.fork(): os.wait()\nimport tensorflow as tf; tf.ones(2)": 0,
    "import tensorflow as tf; tf.__dict__.clear()": 0,
    "import tensorflow as tf; tf.ones = 3; tf.no_such": 1,
    "import sys; sys.path.clear(); import tensorflow": 0,
    "x = " + "(" * 300 + ")" * 300: 1,
    "1" + "+1" * 20000: None,
    "import sys; sys.setrecursionlimit(60); import tensorflow as tf; tf.ones(2)": None,
    "import tensorflow as tf\ntf.function(lambda: tf.function(lambda: 1 / 0)())()": 1,
    "import atexit; atexit.register(lambda: 1 / 0)": 0,
    "\ufeffimport tensorflow as tf; tf.ones(2)": 0,
    "import signal, os; os.kill(os.getpid(), signal.SIGTERM)": -15,
}
REPORTED = 0.4  # of these also write a report


class Programs:
    """Cases of programs."""

    def __init__(self, folder: Path) -> None:
        install.is_installed()
        self._tops = {dialect: roots.root("tensorflow", dialect) for dialect in ("v1", "v2")}
        self._clean = dict(os.environ) | {"PYTHONPATH": str(ROOT)}

    def case(self, random: Random) -> Case:
        """A source that is damaged, read; or an odd one, run."""
        if random.randrange(_IN_OWN) == 0:
            source, status = random.choice(sorted(ODD.items(), key=str))
            options = ["--report", "out.html"] if random.random() < REPORTED else []
            return Case(f"situs run {options} {source!a}", lambda: self._run(source, status, options), seconds=IN_OWN)
        seed = random.choice(SOURCES)
        if random.random() < 0.7:
            content = mutated_text(random, seed, SOURCES).encode("utf-8", "replace")
        else:
            content = mutated_bytes(random, seed.encode(), [each.encode() for each in SOURCES])
        return Case(f"read {content!a}", lambda: self._read(content))

    def _read(self, content: bytes) -> None:
        Path("program.py").write_bytes(content)
        dialect = dialect_of("program.py")
        with contextlib.suppress(SyntaxError):  # Python says what is wrong with a program
            missing.lacking(missing.read_source("program.py"), self._tops[dialect])

    def _run(self, source: str, status: int | None, options: list[str]) -> None:
        Path("odd.py").write_text(source, encoding="utf8")
        command = [sys.executable, "-m", "situs", "run", *options, "odd.py"]
        done = subprocess.run(command, env=self._clean, capture_output=True, timeout=300, check=False)
        said = done.stderr.decode(errors="replace")
        require(status is None or done.returncode == status, f"status {done.returncode}, not {status}: {said[-2000:]}")
        require("situs/_src/cli/" not in said or status is None, said[-3000:])
