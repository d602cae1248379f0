"""``tf.distribute``: one program over many devices.

strategy.scope()        variables are made once for each device                       variables.py
strategy.run(fn)        the function is called once for each device, in its scope     replicas.py
PerReplica              what the calls gave, and what they are given                  values.py
strategy.reduce         the values of all replicas as one                             reduction.py
distributed datasets    a batch for each replica                                      input.py
"""
