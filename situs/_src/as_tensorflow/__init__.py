"""TensorFlow's name: programs that ``import tensorflow`` run on Situs unchanged.

    situs run program.py                        in a process of its own
    situs.install_as_tensorflow()               in this process, before its first ``import tensorflow``

install.py     installs the name, or says why it cannot
finder.py      the import hook for ``tensorflow`` and its submodules
roots.py       the modules that differ from Situs': ``tensorflow`` itself, ``tensorflow.compat.v1`` and ``.v2``
internals.py   ``tensorflow.python.*`` and ``tensorflow.core.*``: private modules that programs import
dialect.py     whether a program is written for TensorFlow 1 or 2
load_keras.py  ``tf.keras``: the package keras, imported with Situs beneath
for_keras.py   other things that package imports
keras_changes.py     changes made to Keras' modules at import
lazy_logs.py         when the losses of a batch are read
fused_recurrent.py   Keras' LSTM and GRU as one op each
fused_updates.py     steps of Keras' optimizers as one op
chief_only.py        which process writes the files of Keras' callbacks
older_optimizers.py  optimizers of TensorFlow 1 in ``model.compile``
missing.py     what a program uses and Situs lacks, as an error and as a list
"""
