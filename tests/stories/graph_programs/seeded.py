"""A program of TensorFlow 1 with one seed, the same under any TensorFlow: prints what it draws.

``tests/data/seeded_graph.txt`` is what TensorFlow 2.21 prints for this program. It has what the count of random
operations depends on: variables, placeholders, branches, loops, datasets, functions, and ops that draw nothing.
"""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(12)
first = tf.random_normal([2])
side = tf.placeholder(tf.float32, [])
branch = tf.cond(side > 0, lambda: tf.random_uniform([2]), lambda: tf.random_normal([2]))
loop = tf.while_loop(
    lambda i, _: i < 3, lambda i, total: (i + 1, total + tf.random_uniform([2])), [tf.constant(0), tf.zeros([2])]
)[1]
weights = tf.get_variable("weights", [2, 3])
dropped = tf.nn.dropout(tf.ones([6]), keep_prob=0.5)
element = tf.data.Dataset.range(10).shuffle(4).make_one_shot_iterator().get_next()
variable = tf.Variable(tf.truncated_normal([3], stddev=0.1))
own = tf.random_uniform([2], seed=3)
classes = tf.multinomial([[1.0, 2.0, 3.0]], 5)
called = tf.function(lambda: tf.random_uniform([2]))()
train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(weights) + tf.reduce_sum(variable))
last = tf.random_normal([2])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in (1.0, -1.0, 1.0):
        fetched = [first, branch, loop, weights, dropped, element, variable, own, classes, called, last]
        for value in session.run(fetched, {side: number}):
            print(np.asarray(value).ravel().tolist())
