"""`scripts/surface` says how much of what programs use there is."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "surface"


def test_uses_are_counted_for_each_dialect(tmp_path: Path) -> None:
    file = tmp_path / "symbols.csv"
    file.write_text(
        "symbol,tf1_style_programs,tf2_style_programs\n"
        "tf.float32,3,1\n"
        "tf.placeholder,1,1\n"
        "tf.nn.relu,0,2\n"
        "tf.nn.no_such_thing,5,0\n"
        "tf.lite.TFLiteConverter,100,100\n"
        "tf.contrib.tpu.TPUEstimator,100,0\n"
    )
    done = subprocess.run([sys.executable, SCRIPT, file], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "v1: 44.4% of 9 uses; 1 names missing",
        "        5 tf.nn.no_such_thing",
        "v2: 75.0% of 4 uses; 1 names missing",
        "        1 tf.placeholder",
    ]
