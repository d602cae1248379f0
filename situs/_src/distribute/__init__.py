"""``tf.distribute``: one program over many devices.

strategy.scope()        variables are made once for each device                       variables.py
strategy.run(fn)        the function is called once for each device, in its scope     replicas.py
PerReplica              what the calls gave, and what they are given                  values.py
strategy.reduce         the values of all replicas as one                             reduction.py
distributed datasets    a batch for each replica                                      input.py, sharding.py

Several processes:

MultiWorkerMirroredStrategy   the same over processes                                 multi_worker.py
who they are                  TF_CONFIG, torchrun, Slurm                              cluster_resolver.py
ops that they run together    sums, the chief's values, values of all                 collectives.py
the processes themselves      how they meet, wait, and notice who is missing          workers.py, communication.py
"""
