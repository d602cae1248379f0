"""Streaming metrics of TensorFlow 1: ``tf.metrics.accuracy`` returns a value and an update.

    accuracy, update = tf.metrics.accuracy(labels, predictions)
    session.run(tf.local_variables_initializer())
    for batch in ...: session.run(update, batch)      adds to accuracy/total and accuracy/count
    session.run(accuracy)                             divides them

The public names are in `situs.compat.v1.metrics`.
"""
