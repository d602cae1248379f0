"""``Trackable``: the base of classes whose attributes are restored when they are set.

    class Layer(Trackable):
        def build(self, size):
            self.w = tf.Variable(tf.zeros([size]))      has its value from the checkpoint at once

Objects of any class can be saved and restored. Only an object that reports new attributes can have variables restored
that it creates later.
"""

from __future__ import annotations

from situs._src.checkpoints.restoration import arrived, is_waiting


class Trackable:
    """An object that tells restorations of its attributes.

    A subclass may define ``_checkpoint_children()``, which returns what is saved of it, by name; by default that is
    every attribute that is a variable or leads to some.
    """

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if is_waiting(self):
            arrived(self, name, value)
