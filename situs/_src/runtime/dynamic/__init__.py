"""The dynamic placer in the runtime: placements by predicted time, checked against measurements, and redone.

settings    the placer, its budget and seed, or a given plan         placement/placer_setting.py
engine.py   places what a run needs by the cost model; moves variables if necessary
program.py  a program that times its first steps and may be replaced
pilot.py    when to record, when to place again, when to stop: from times alone
learn.py    measured costs from a recorded run
links.py    measured costs of copies between devices
profile.py  ``tf.placement.profile``: records all runs for the cost store

run 1-2    unrecorded                     warm-up
run 3      recorded                       actual costs and sizes
run 4-8    timed                          median against prediction: if more than 15 % off, everything is placed again
then       one device alone, if it fits   the faster one stays
"""
