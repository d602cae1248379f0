"""Plans as text: one call per line."""

from __future__ import annotations

from situs._src.runtime.plan.plan import Call, Literal, Plan, Slot, Source

_SHOWN = 24  # characters of a value


def plan_text(plan: Plan) -> str:
    """A plan as text, one call per line, each with its device."""
    lines = [f"inputs {', '.join(f'%{slot}' for slot in plan.inputs) or 'none'}"]
    lines += [_line(call) for call in plan.calls]
    lines.append(f"return {', '.join(map(_source, plan.outputs)) or 'nothing'}")
    return "\n".join(lines)


def _line(call: Call) -> str:
    results = ", ".join(f"%{slot}" for slot in call.outputs)
    inputs = ", ".join(map(_source, call.inputs))
    if call.node is not None:
        what = f"{call.node.type}({inputs})  # {call.node.name}"
    else:
        what = f"{'copy' if call.copies is not None else 'read'} {inputs}"
    return f"{call.device.short_name:7} {results + ' = ' if results else ''}{what}"


def _source(source: Source) -> str:
    if isinstance(source, Slot):
        return f"host(%{source.number})" if source.host else f"%{source.number}"
    if isinstance(source, Literal):
        text = " ".join(str(source.value).split())
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    inside = ", ".join(map(_source, source))
    return f"[{inside}]" if isinstance(source, list) else f"({inside})"
