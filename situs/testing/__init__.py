"""What tests of TensorFlow programs are built from: ``tf.test.TestCase`` and its assertions.

plain.py        what a test may claim about ordinary values, beyond unittest
assertions.py   what a test may claim about tensors and arrays
case.py         TestCase: sessions, temporary folders, threads; main
"""

from situs.testing.case import TestCase as TestCase
from situs.testing.case import get_temp_dir as get_temp_dir
from situs.testing.case import main as main
