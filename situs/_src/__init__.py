"""The engine behind the public modules of `situs`: nothing here is promised to programs.

    cli           the command `situs`
    v1            what only programs of TensorFlow 1 use: queues, monitored sessions, their losses and optimizers
    keras         layers, models, losses, metrics and optimizers
    data          input pipelines            checkpoints   values of variables in files
    summaries     what TensorBoard shows     files         files and folders
    inspect       reports on placement and memory          config, testing
    tracing       functions as graphs, AutoGraph           autodiff      gradients      variables
    ops           the ops, one family a file
    runtime       ops run at once, and graphs as plans
    placement     on which device each op of a graph runs, and why
    ir            ops, kernels, graphs: what they are
    base          devices, dtypes, shapes, errors, memory accounts, settings

Imports point down this list. A public function says where it is exported by `base.export.export`;
``scripts/write_api.py`` writes the public modules from that.
"""
