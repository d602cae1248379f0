"""Summaries: what a program wants to see of its training, in files that TensorBoard reads.

    a value  --op-->  a Summary message, as a string  --FileWriter-->  an event file         TensorFlow 1
    a value  --op, with the default writer------------------------->  an event file         TensorFlow 2

The messages are TensorBoard's own (`messages`), and so is the form of the records (`event_file`). The package is
loaded when the first summary is made: ``import situs`` does without it.
"""
