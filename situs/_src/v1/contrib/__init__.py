"""``tf.contrib``: what of it programs use and has a plain equivalent in ``tf``; other names are refused in words."""

from situs._src.v1.contrib.absent import without as _without

__getattr__ = _without("tf.contrib")
