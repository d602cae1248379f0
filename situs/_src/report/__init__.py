"""Reports: where everything in a program ran, why, how long it took, and what filled the memory, as one page.

collect.py         recording events while a program runs, in bounded memory
graphs.py          plans as graphs: nodes, edges, groups
memory.py          the memory of each GPU over time, in few points, with its holders at the peak
critical_path.py   the critical path, and why devices were idle
data.py            the report as JSON data: the schema
planned.py         the report of a placement plan: the predicted step
perfetto.py        the data as a trace for Perfetto and chrome://tracing
page.py            one report, or two side by side, as one HTML file, with assets/ embedded
report.py          ``tf.report``
"""
