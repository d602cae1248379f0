"""Summaries: training metrics in files for TensorBoard.

    a value  --op-->  a Summary message, as a string  --FileWriter-->  an event file         TensorFlow 1
    a value  --op, with the default writer------------------------->  an event file         TensorFlow 2

The messages are TensorBoard's own (`messages`), and so is the record format (`event_file`). The package is loaded with
the first summary: ``import situs`` does without it.
"""
