"""Fuzzing of everything that takes text or data from outside: ``python -m tests.fuzz [TARGET ...] --minutes N``.

    case.py        one thing to try, and what a target is
    mutation.py    valid bytes and text, damaged
    drawing.py     values out of hypothesis strategies, from a seed
    values.py      good, bad and absurd arguments
    judge.py       one case tried under limits of time and memory, and judged
    loop.py        cases one after the other, counted
    report.py      what is printed
    targets/       what to try: device strings, configuration, files, command lines, calls
    threads.py     16 threads on one session and on eager ops

A case is known by its target, the seed of the run and its number, so each is run again by
``python -m tests.fuzz TARGET --seed S --only NUMBER``. pytest collects nothing here.
"""
