"""``tf.image``: what needs no image decoding."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.image_boxes import draw_bounding_boxes as draw_bounding_boxes
from situs._src.ops.image_codec import adjust_jpeg_quality as adjust_jpeg_quality
from situs._src.ops.image_codec import decode_and_crop_jpeg as decode_and_crop_jpeg
from situs._src.ops.image_codec import decode_bmp as decode_bmp
from situs._src.ops.image_codec import decode_gif as decode_gif
from situs._src.ops.image_codec import decode_image as decode_image
from situs._src.ops.image_codec import decode_jpeg as decode_jpeg
from situs._src.ops.image_codec import decode_png as decode_png
from situs._src.ops.image_codec import encode_jpeg as encode_jpeg
from situs._src.ops.image_codec import encode_png as encode_png
from situs._src.ops.image_codec import extract_jpeg_shape as extract_jpeg_shape
from situs._src.ops.image_codec import is_jpeg as is_jpeg
from situs._src.ops.image_color import adjust_brightness as adjust_brightness
from situs._src.ops.image_color import adjust_contrast as adjust_contrast
from situs._src.ops.image_color import convert_image_dtype as convert_image_dtype
from situs._src.ops.image_color import grayscale_to_rgb as grayscale_to_rgb
from situs._src.ops.image_color import per_image_standardization as per_image_standardization
from situs._src.ops.image_color import random_brightness as random_brightness
from situs._src.ops.image_color import random_contrast as random_contrast
from situs._src.ops.image_color import rgb_to_grayscale as rgb_to_grayscale
from situs._src.ops.image_color import stateless_random_brightness as stateless_random_brightness
from situs._src.ops.image_color import stateless_random_contrast as stateless_random_contrast
from situs._src.ops.image_crop import central_crop as central_crop
from situs._src.ops.image_crop import crop_to_bounding_box as crop_to_bounding_box
from situs._src.ops.image_crop import pad_to_bounding_box as pad_to_bounding_box
from situs._src.ops.image_crop import resize_with_crop_or_pad as resize_with_crop_or_pad
from situs._src.ops.image_crop import stateless_random_crop as stateless_random_crop
from situs._src.ops.image_flip import flip_left_right as flip_left_right
from situs._src.ops.image_flip import flip_up_down as flip_up_down
from situs._src.ops.image_flip import random_flip_left_right as random_flip_left_right
from situs._src.ops.image_flip import random_flip_up_down as random_flip_up_down
from situs._src.ops.image_flip import rot90 as rot90
from situs._src.ops.image_flip import stateless_random_flip_left_right as stateless_random_flip_left_right
from situs._src.ops.image_flip import stateless_random_flip_up_down as stateless_random_flip_up_down
from situs._src.ops.image_flip import transpose_image as transpose
from situs._src.ops.image_hsv import adjust_gamma as adjust_gamma
from situs._src.ops.image_hsv import adjust_hue as adjust_hue
from situs._src.ops.image_hsv import adjust_saturation as adjust_saturation
from situs._src.ops.image_hsv import hsv_to_rgb as hsv_to_rgb
from situs._src.ops.image_hsv import random_hue as random_hue
from situs._src.ops.image_hsv import random_saturation as random_saturation
from situs._src.ops.image_hsv import rgb_to_hsv as rgb_to_hsv
from situs._src.ops.image_hsv import rgb_to_yiq as rgb_to_yiq
from situs._src.ops.image_hsv import rgb_to_yuv as rgb_to_yuv
from situs._src.ops.image_hsv import stateless_random_hue as stateless_random_hue
from situs._src.ops.image_hsv import stateless_random_saturation as stateless_random_saturation
from situs._src.ops.image_hsv import yiq_to_rgb as yiq_to_rgb
from situs._src.ops.image_hsv import yuv_to_rgb as yuv_to_rgb
from situs._src.ops.image_measure import image_gradients as image_gradients
from situs._src.ops.image_measure import psnr as psnr
from situs._src.ops.image_measure import sobel_edges as sobel_edges
from situs._src.ops.image_measure import ssim as ssim
from situs._src.ops.image_measure import total_variation as total_variation
from situs._src.ops.image_resize import ResizeMethod as ResizeMethod
from situs._src.ops.image_resize import resize as resize
from situs._src.ops.image_sampling import sample_distorted_bounding_box as sample_distorted_bounding_box
from situs._src.ops.image_sampling import (
    stateless_sample_distorted_bounding_box as stateless_sample_distorted_bounding_box,
)
from situs._src.ops.image_window import crop_and_resize as crop_and_resize
from situs._src.ops.image_window import extract_patches as extract_patches
from situs._src.ops.image_window import non_max_suppression as non_max_suppression
from situs._src.ops.image_window import resize_with_pad as resize_with_pad
from situs._src.ops.random import random_crop as random_crop
