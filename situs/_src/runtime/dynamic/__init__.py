"""The dynamic placer in the runtime: placements by predicted time, checked against the clock, and made anew.

settings    which placer, with what budget and seed, or a plan that is given         placement/placer_setting.py
engine.py   places what a run needs by the cost model; moves variables if need be
program.py  a program that times its first steps and may become another one
pilot.py    when to look closer, when to place anew, when to leave it: from times alone
learn.py    measured costs out of a recorded run
links.py    measured costs of copies between devices
profile.py  ``tf.placement.profile``: all runs recorded for the store of costs

run 1-2    as they are                    what is slow only once is over
run 3      recorded                       costs and sizes as they are
run 4-8    timed                          median against prediction: more than 15 % off, and all is placed anew
then       one device alone, if it fits   whichever is quicker stays
"""
