"""What tests of TensorFlow programs are built from: ``tf.test.TestCase`` and its assertions.

questions.py    questions that programs ask before they use a GPU
plain.py        what a test may claim about ordinary values, beyond unittest
assertions.py   what a test may claim about tensors and arrays
case.py         TestCase: sessions, temporary folders, threads; main
"""
