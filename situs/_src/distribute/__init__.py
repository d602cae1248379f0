"""``tf.distribute``: one program over many devices.

strategy.scope()        variables are created once per device                          variables.py
strategy.run(fn)        the function is called once per device, in its scope          replicas.py
PerReplica              arguments and results of the calls                            values.py
strategy.reduce         combines the values of all replicas                           reduction.py
distributed datasets    a batch for each replica                                      input.py, sharding.py

Several processes:

MultiWorkerMirroredStrategy   the same over processes                                 multi_worker.py
the cluster                   TF_CONFIG, torchrun, Slurm                              cluster_resolver.py
collective ops                all-reduce, broadcast from the chief, gather              collectives.py
the processes                 rendezvous, deadlines, detecting lost workers           workers.py, communication.py
"""
