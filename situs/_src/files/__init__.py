"""Files and folders, with TensorFlow's names and errors.

paths.py          paths, and the translation of the operating system's errors
tree.py           folders and whole files: exists, listdir, glob, copy, rmtree
handle.py         GFile, a file that is read or written
ops.py            whole files as strings, read and written by ops
drafts.py         atomic file writes
record_writer.py  TFRecordWriter
crc32c.py         the checksum of its records
"""
