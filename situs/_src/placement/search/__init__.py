"""Automatic placement: a graph with costs, spread over devices so that a step takes the least time.

problem.py    what is to be placed, on what, and what it costs       published.py  the format of published workloads
simulate.py   what a placement takes: the one truth                  flat.py       a problem as arrays
reduce.py     nodes that move together; smaller graphs               orders.py     orders of what moves
seeds.py      every rule that people use, as starting points         conflict.py   why there is no placement
improve.py    rounds of annealing                                    pure.py       one round, in Python ...
exact.py      a proof, if OR-Tools is there                          compiled.py   ... and in C (fast.c)
search.py     all of it, under a budget                              plan.py       the answer; picture.py draws it
"""
