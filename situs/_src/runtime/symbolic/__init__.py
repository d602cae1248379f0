"""Building graphs: what calling an op does when it does not run eagerly.

    apply(op, inputs, attrs)
      bind      inputs -> symbolic tensors and host values, type variables -> dtypes
      infer     the op's shape rule, on what is known about the inputs
      add       a new operation in the graph, with the scopes' device, name and control inputs

Binding, shape rules and errors are those of the eager runtime.
"""
