"""What SECURITY.md promises: what is read from files runs no code."""

import ast
import hashlib
import pickle
from pathlib import Path

import pytest

import situs
import situs.compat.v1 as tf
from situs import errors
from situs._src.runtime.run import region_cache

PACKAGE = Path(situs.__file__).parent
LOADS_CODE = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
# Compiled code of this user's own: sent to and from processes that this one has started, by pipes, and kept in a folder
# that belongs to this user alone, as compiled C is.
COMPILED = {
    "_src/runtime/run/carry.py",
    "_src/runtime/run/compile_worker.py",
    "_src/runtime/run/inductor.py",
    "_src/runtime/run/region_cache.py",
    "_src/runtime/run/workers.py",
}


class Trap:
    """Raises when it is unpickled."""

    def __reduce__(self):
        return exec, ("raise AssertionError('code from a file was run')",)


TRAP = pickle.dumps(Trap())


def test_the_trap_works():
    with pytest.raises(AssertionError, match="code from a file was run"):
        pickle.loads(TRAP)


def test_nothing_in_the_package_loads_pickles():
    found = []
    for file in PACKAGE.rglob("*.py"):
        if file.relative_to(PACKAGE).as_posix() in COMPILED:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found += [(file, alias.name) for alias in node.names if alias.name.split(".")[0] in LOADS_CODE]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in LOADS_CODE:
                found.append((file, node.module))
            elif isinstance(node, ast.Attribute) and ast.unparse(node) in ("torch.load", "np.load"):
                found.append((file, ast.unparse(node)))
    assert found == []


def test_compiled_code_is_read_from_a_folder_of_this_users_alone(tmp_path, monkeypatch):
    """A trap with the right sum is read where only this user can have put it, and nowhere else."""
    folder = tmp_path / "regions"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("SITUS_COMPILE_CACHE", str(folder))
    (folder / "key").write_bytes(hashlib.sha256(TRAP).digest() + TRAP)
    for mode in (0o770, 0o707, 0o777, 0o720):
        folder.chmod(mode)
        assert region_cache.kept("key") is None
    folder.chmod(0o700)
    with monkeypatch.context() as patch:
        patch.setattr("os.getuid", lambda: folder.stat().st_uid + 1)
        assert region_cache.kept("key") is None
    (folder / "key").write_bytes(bytes(32) + TRAP)
    assert region_cache.kept("key") is None


@pytest.mark.parametrize("read", [tf.GraphDef.FromString, lambda data: tf.import_graph_def(data, name="")])
def test_a_graph_that_is_a_pickle_is_refused(read):
    with tf.Graph().as_default(), pytest.raises(Exception, match=r"message|parse|Parse") as caught:
        read(TRAP)
    assert not isinstance(caught.value, AssertionError)


def test_a_checkpoint_with_a_pickle_in_it_is_refused(tmp_path):
    variable = situs.Variable([1.0, 2.0])
    prefix = situs.train.Checkpoint(v=variable).write(str(tmp_path / "c"))
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        file.write_bytes(TRAP)
        with pytest.raises((errors.SitusError, errors.OpError)):
            situs.train.Checkpoint(v=situs.Variable([0.0, 0.0])).read(prefix)
        file.write_bytes(content)
    situs.train.Checkpoint(v=variable).read(prefix)


@pytest.mark.parametrize("attrs", [{}, {"function": b"print"}, {"_value:function": b'"print"'}], ids=str)
def test_a_python_call_in_a_graph_from_elsewhere_has_no_function(attrs):
    message = tf.GraphDef()
    node = message.node.add(name="y", op="PyFunc")
    node.attr["Tout"].list.type.append(1)
    node.attr["_output_types"].list.type.append(1)
    for name, value in {"token": b"pyfunc_0", **attrs}.items():
        node.attr[name].s = value
    with tf.Graph().as_default(), tf.Session() as session:
        tf.numpy_function(lambda: 1.0, [], tf.float32)  # there are functions in this process that a token might name
        tf.import_graph_def(message, name="other")
        with pytest.raises(errors.InvalidArgumentError, match="is not callable"):
            session.run("other/y:0")


def test_a_python_function_cannot_be_written_down():
    with tf.Graph().as_default() as graph:
        tf.numpy_function(lambda: 1.0, [], tf.float32)
        with pytest.raises(ValueError, match="lives in this process only"):
            graph.as_graph_def()
