"""Files and folders of this machine, with TensorFlow's names and errors.

paths.py          which place a path means, and what the operating system's errors are called
tree.py           folders and whole files: exists, listdir, glob, copy, rmtree
handle.py         GFile, a file that is read or written
ops.py            whole files as strings, read and written by ops
drafts.py         files that get their names when they are complete
record_writer.py  TFRecordWriter
crc32c.py         the checksum of its records
"""
