"""Automatic placement: a graph with costs, spread over devices so that a step takes the least time.

problem.py    what is to be placed, on what, and what it costs            published.py  a format of others
simulate.py   what a placement takes: the one truth                       compiled.py   the same in C (fast.c)
reduce.py     nodes that move together, as blocks                         blocks.py     ... and their arrays
seeds.py      every rule that people use, as starting points              improve.py    annealing from the best of them
exact.py      a proof, if OR-Tools is there                               conflict.py   why nothing is possible
search.py     all of it under a budget                                    plan.py       the answer; picture.py draws it
"""
