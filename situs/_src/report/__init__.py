"""Reports: where everything of a program ran, why, how long, and what filled the memory, as one page.

collect.py         what is noted while a program runs, and how that stays bounded
graphs.py          plans as graphs: nodes, edges, groups
memory.py          the memory of each GPU over time, in few points, with its holders at the peak
critical_path.py   what held up what: the critical path, and why devices waited
data.py            all of it as plain data that JSON can hold: the schema
planned.py         the same for a plan of the placer: what a step is expected to be
perfetto.py        the data as a trace for Perfetto and chrome://tracing
page.py            the data, or two of them side by side, as one HTML file; assets/ is what is packed into it
report.py          ``tf.report``
"""
