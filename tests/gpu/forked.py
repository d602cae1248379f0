"""Programs in processes of their own, which find Situs and PyTorch loaded.

Devices and memory are settled once per process, so a test of them needs a process; most of the time that takes goes
into importing PyTorch. One process imports it, touches no card, and forks a child for each program:

    server, imports everything ---+--- fork --- program: CUDA begins here, and ends with the process
                                  +--- fork --- program

What a program finds is what it would find if it had been started: no device is known, no setting has been read, no
memory of a card is taken. Only its imports take no time.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
SETTINGS = ("SITUS_", "CUDA_", "TF_", "PYTORCH_")  # what variables begin with that programs are not to inherit


class Done(NamedTuple):
    """How a program ended, and what it printed."""

    code: int
    out: str
    err: str


class Server:
    """The process that forks. To be closed; programs run one after the other."""

    def __init__(self) -> None:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(SETTINGS)}
        paths = [str(ROOT), *filter(None, clean.get("PYTHONPATH", "").split(os.pathsep))]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.gpu.forked"],
            cwd=ROOT,
            env={**clean, "PYTHONPATH": os.pathsep.join(str(Path(each).resolve()) for each in paths)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, program: str, folder: Path, timeout: float, **env: str) -> Done:
        """Runs a program, whose file and output are put into a folder.

        Raises:
            TimeoutError: it did not end in time. The server is of no use then.
        """
        file = folder / "program.py"
        file.write_text(program)
        asked: dict[str, Any] = {"program": str(file), "env": env}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        if not select.select([self._process.stdout], [], [], timeout)[0]:
            self.close()
            raise TimeoutError(f"{file} did not end within {timeout} s")
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process that forks has ended")
        return Done(json.loads(line), file.with_suffix(".out").read_text(), file.with_suffix(".err").read_text())

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()


def serve() -> None:
    """Runs the programs that standard input names, each in a child, and says how they ended."""
    import pynvml  # type: ignore[import-not-found, unused-ignore]  # noqa: F401
    import torch  # noqa: F401 -- after Situs, which has it loaded with settings of its own

    import situs.compat.v1

    situs.compat.v1.Session, situs.add
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(asked["program"], asked["env"])
        _, status = os.waitpid(child, 0)
        print(json.dumps(os.waitstatus_to_exitcode(status)), flush=True)


def _run(program: str, env: dict[str, str]) -> None:
    """Runs a program in this process, and ends it."""
    for number, suffix in ((0, None), (1, ".out"), (2, ".err")):
        path = os.devnull if suffix is None else Path(program).with_suffix(suffix)
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.update(env)
    sys.argv[:] = [program]
    code = 0
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
