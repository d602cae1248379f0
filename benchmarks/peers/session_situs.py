"""The graph programs in Situs, in a process of their own; prints seconds, or activations, as JSON."""

import session_programs

import situs.compat.v1 as tf

session_programs.main(tf)
