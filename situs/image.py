"""``tf.image``: what needs no image decoding."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.image_color import adjust_brightness as adjust_brightness
from situs._src.ops.image_color import adjust_contrast as adjust_contrast
from situs._src.ops.image_color import convert_image_dtype as convert_image_dtype
from situs._src.ops.image_color import grayscale_to_rgb as grayscale_to_rgb
from situs._src.ops.image_color import per_image_standardization as per_image_standardization
from situs._src.ops.image_color import random_brightness as random_brightness
from situs._src.ops.image_color import random_contrast as random_contrast
from situs._src.ops.image_color import rgb_to_grayscale as rgb_to_grayscale
from situs._src.ops.image_crop import central_crop as central_crop
from situs._src.ops.image_crop import crop_to_bounding_box as crop_to_bounding_box
from situs._src.ops.image_crop import pad_to_bounding_box as pad_to_bounding_box
from situs._src.ops.image_crop import resize_with_crop_or_pad as resize_with_crop_or_pad
from situs._src.ops.image_flip import flip_left_right as flip_left_right
from situs._src.ops.image_flip import flip_up_down as flip_up_down
from situs._src.ops.image_flip import random_flip_left_right as random_flip_left_right
from situs._src.ops.image_flip import random_flip_up_down as random_flip_up_down
from situs._src.ops.image_flip import rot90 as rot90
from situs._src.ops.image_flip import transpose_image as transpose
from situs._src.ops.image_resize import ResizeMethod as ResizeMethod
from situs._src.ops.image_resize import resize as resize
from situs._src.ops.random import random_crop as random_crop
