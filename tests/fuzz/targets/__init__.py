"""What there is to try, by name."""

from __future__ import annotations

_HERE = "tests.fuzz.targets"
TARGETS = {
    "devices": f"{_HERE}.devices.Devices",
    "configuration": f"{_HERE}.configuration.Configuration",
    "environment": f"{_HERE}.environment.Environment",
    "commands": f"{_HERE}.commands.Commands",
    "graphs": f"{_HERE}.graphs.Graphs",
    "metagraphs": f"{_HERE}.graphs.MetaGraphs",
    "checkpoints": f"{_HERE}.checkpoints.Checkpoints",
    "records": f"{_HERE}.records.Records",
    "examples": f"{_HERE}.examples.Examples",
    "reports": f"{_HERE}.reports.Reports",
    "plans": f"{_HERE}.plans.Plans",
    "saved-models": f"{_HERE}.saved_models.SavedModels",
    "keras-files": f"{_HERE}.keras_files.KerasFiles",
    "programs": f"{_HERE}.programs.Programs",
    "clusters": f"{_HERE}.clusters.Clusters",
    "calls": f"{_HERE}.calls.Calls",
    "graph-calls": f"{_HERE}.calls.GraphCalls",
    "methods": f"{_HERE}.methods.Methods",
    "graph-methods": f"{_HERE}.methods.GraphMethods",
}
