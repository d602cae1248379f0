"""TensorFlow's name: programs that ``import tensorflow`` run on Situs as they are.

    situs run program.py                        in a process of its own
    situs.install_as_tensorflow()               in this process, before its first ``import tensorflow``

install.py     takes the name, or says why it cannot be had
finder.py      what ``tensorflow`` and every module below it are
roots.py       the modules that differ from Situs': ``tensorflow`` itself, ``tensorflow.compat.v1`` and ``.v2``
internals.py   ``tensorflow.python.*`` and ``tensorflow.core.*``: what programs import from below the public names
dialect.py     whether a program is written for TensorFlow 1 or 2
load_keras.py  ``tf.keras``: the package keras, imported with Situs beneath
for_keras.py   what that package asks for besides
keras_changes.py     what is changed in modules of Keras when they are imported
lazy_logs.py         when the losses of a batch are read
fused_recurrent.py   Keras' LSTM as one op
fused_updates.py     steps of Keras' optimizers as one op
chief_only.py        which process writes the files of Keras' callbacks
older_optimizers.py  optimizers of TensorFlow 1 in ``model.compile``
missing.py     what a program uses and Situs lacks, in words and as a list
"""
