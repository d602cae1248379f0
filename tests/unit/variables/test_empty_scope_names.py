"""Scopes and templates with empty names: an empty name stands after a slash. The names are TensorFlow's."""

from __future__ import annotations

import situs.compat.v1 as v1


def weight():
    return v1.get_variable("w", [1])


def test_an_empty_name_in_a_scope_adds_a_slash():
    with v1.Graph().as_default(), v1.variable_scope("a"):
        with v1.variable_scope("") as scope:
            assert (scope.name, scope.original_name_scope, weight().name) == ("a/", "", "a//w:0")
            assert v1.constant(1.0).name == "a/Const:0"
            with v1.variable_scope("b") as inner:
                assert (inner.name, inner.original_name_scope, weight().name) == ("a//b", "a/b/", "a//b/w:0")
        with v1.variable_scope("", auxiliary_name_scope=False) as scope:
            assert (scope.name, scope.original_name_scope) == ("a/", "a/")
        with v1.variable_scope(scope, reuse=True):
            assert weight().name == "a//w:0"


def test_an_empty_default_name_is_numbered_and_leaves_the_name_scope():
    with v1.Graph().as_default(), v1.variable_scope("a"):
        for name in ("a/", "a/_1"):
            with v1.variable_scope(None, default_name="") as scope:
                assert (scope.name, scope.original_name_scope, weight().name) == (name, "", f"{name}/w:0")
                assert v1.constant(1.0).name in ("Const:0", "Const_1:0")


def test_an_empty_name_at_the_top_is_no_scope():
    with v1.Graph().as_default(), v1.variable_scope("") as scope:
        assert (scope.name, scope.original_name_scope, weight().name) == ("", "", "w:0")


def test_templates():
    with v1.Graph().as_default():
        template = v1.make_template("", weight)
        with v1.variable_scope("outer"):
            beside = v1.get_variable("x", [])
            made = template()
            assert template() is made
        assert (made.name, template.variable_scope_name, template.variable_scope.name) == (
            "outer//w:0",
            "outer/",
            "outer/",
        )
        assert template.variables == [beside, made]  # of all that begin with its name
        outside = v1.make_template("", weight)
        assert (outside().name, outside.variable_scope_name) == ("w:0", "")
        named = v1.make_template("s", weight)
        assert (named().name, named.variable_scope_name, named.variables[0].name) == ("s/w:0", "s/", "s/w:0")
