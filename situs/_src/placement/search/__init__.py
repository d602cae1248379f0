"""Automatic placement: distributing a graph with costs over devices so as to minimize the step time.

problem.py    nodes, tensors, devices, links and their costs         published.py  the format of published workloads
simulate.py   the cost of a placement                                flat.py       a problem as arrays
reduce.py     blocks of nodes; coarser graphs                        orders.py     orders of what moves
seeds.py      heuristics, as starting points                         conflict.py   why there is no placement
improve.py    simulated annealing                                    pure.py       one round, in Python ...
exact.py      a proof, if OR-Tools is installed                      compiled.py   ... and in C (fast.c)
search.py     all of it, under a budget                              plan.py       the answer; picture.py draws it
"""
