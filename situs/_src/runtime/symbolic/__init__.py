"""Building graphs: what a call of an op does when it is not to run at once.

    apply(op, inputs, attrs)
      bind      inputs -> tensors of the graph and host values, type variables -> dtypes
      infer     the op's shape rule, on what is known of the inputs
      add       one more operation in the graph, with the scopes' device, name and control inputs

Binding, shape rules and errors are those of the eager runtime.
"""
