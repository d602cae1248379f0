"""The programs of the documents that Situs is built after, through the frontend of graphs and sessions.

They are written as in the documents, after the one line that is changed: the import. Each runs in a process of its
own, on virtual GPUs. Device names are canonical in what is printed, and the order of the log is the placer's.
"""

from __future__ import annotations

LOCAL = "/job:localhost/replica:0/task:0"
IMPORT = "import situs.compat.v1 as tf\n"
PRODUCT = "[[22. 28.]\n [49. 64.]]\n"


def mapping(count: int) -> str:
    lines = [
        f"{LOCAL}/device:GPU:{i} -> device: {i}, name: Situs virtual GPU, pci bus id: virtual:0{i}.0, "
        "compute capability: 9.0\n"
        for i in range(count)
    ]
    return "Device mapping:\n" + "".join(lines)


def placed(**devices: str) -> set[str]:
    return {f"{node.replace('__', '/')}: {LOCAL}/device:{device}" for node, device in devices.items()}


LOGGING = """
# Creates a graph.
a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
c = tf.matmul(a, b)
# Creates a session with log_device_placement set to True.
sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
# Runs the op.
print(sess.run(c))
"""


def test_logging_device_placement(run_python):
    out = run_python(IMPORT + LOGGING, SITUS_VIRTUAL_GPUS="1")
    assert out.startswith(mapping(1))
    assert out.endswith(PRODUCT)
    lines = set(out.removeprefix(mapping(1)).removesuffix(PRODUCT).splitlines())
    assert lines == placed(a="GPU:0", b="GPU:0", MatMul="GPU:0")


def test_logging_without_a_gpu(run_python):
    out = run_python(IMPORT + LOGGING, CUDA_VISIBLE_DEVICES="-1")
    assert out.startswith("Device mapping: no known devices.")
    assert placed(a="CPU:0", b="CPU:0", MatMul="CPU:0") <= set(out.splitlines())


MANUAL = """
# Creates a graph.
with tf.device('/cpu:0'):
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
c = tf.matmul(a, b)
# Creates a session with log_device_placement set to True.
sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
# Runs the op.
print(sess.run(c))
"""


def test_manual_device_placement(run_python):
    out = run_python(IMPORT + MANUAL, SITUS_VIRTUAL_GPUS="1")
    assert placed(a="CPU:0", b="CPU:0", MatMul="GPU:0") <= set(out.splitlines())
    assert out.endswith(PRODUCT)


def test_memory_options_are_taken(run_python):
    growth = "config = tf.ConfigProto()\nconfig.gpu_options.allow_growth = True\nsession = tf.Session(config=config)\n"
    fraction = (
        "config = tf.ConfigProto()\nconfig.gpu_options.per_process_gpu_memory_fraction = 0.4\n"
        "session = tf.Session(config=config)\n"
    )
    ask = (
        "from situs._src.base.budget import policy\nfrom situs._src.base.devices.inventory import process\n"
        "print(policy.of(process.devices()[0]))"
    )
    assert run_python(IMPORT + growth + ask, SITUS_VIRTUAL_GPUS="2").endswith("growth\n")
    assert run_python(IMPORT + fraction + ask, SITUS_VIRTUAL_GPUS="2").endswith("fraction 0.4 of 4096 MiB\n")


MISSING = """
# Creates a graph.
with tf.device('{device}'):
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
    c = tf.matmul(a, b)
"""
HARD = "sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))\nprint(sess.run(c))\n"
SOFT = """
sess = tf.Session(config=tf.ConfigProto(
      allow_soft_placement=True, log_device_placement=True))
# Runs the op.
print(sess.run(c))
"""


def test_a_device_that_does_not_exist(run_python):
    for device in ("/gpu:2", "/device:GPU:2"):
        out = run_python(IMPORT + MISSING.format(device=device) + HARD, fails=True, SITUS_VIRTUAL_GPUS="2")
        assert "UnknownDeviceError" in out
        assert "Cannot assign a device to node 'MatMul': " in out
        assert "Could not satisfy explicit device specification '/device:GPU:2'" in out
        assert f"{LOCAL}/device:GPU:1" in out  # what there is
        assert "allow_soft_placement=True" in out  # what would help
        assert "line 7" in out  # where the node was made


def test_the_error_is_an_invalid_argument_error(run_python):
    catch = "try: tf.Session().run(c)\nexcept tf.errors.InvalidArgumentError as e: print(e.error_code, e.op.name)"
    out = run_python(IMPORT + MISSING.format(device="/gpu:2") + catch, SITUS_VIRTUAL_GPUS="2")
    assert out == "3 MatMul\n"


def test_soft_placement(run_python):
    out = run_python(IMPORT + MISSING.format(device="/gpu:2") + SOFT, SITUS_VIRTUAL_GPUS="2")
    assert placed(a="GPU:0", b="GPU:0", MatMul="GPU:0") <= set(out.splitlines())
    assert out.endswith(PRODUCT)


TOWERS = """
# Creates a graph.
c = []
for d in ['/device:GPU:2', '/device:GPU:3']:
  with tf.device(d):
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])
    c.append(tf.matmul(a, b))
with tf.device('/cpu:0'):
  sum = tf.add_n(c)
# Creates a session with log_device_placement set to True.
sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
# Runs the op.
print(sess.run(sum))
"""


def test_towers_on_several_gpus(run_python):
    out = run_python(IMPORT + TOWERS, SITUS_VIRTUAL_GPUS="4")
    assert out.startswith(mapping(4))
    expected = placed(
        Const="GPU:2",
        Const_1="GPU:2",
        MatMul="GPU:2",
        Const_2="GPU:3",
        Const_3="GPU:3",
        MatMul_1="GPU:3",
        AddN="CPU:0",
    )
    assert expected == set(out.removeprefix(mapping(4)).splitlines()[:-2])
    assert out.endswith("[[ 44.  56.]\n [ 98. 128.]]\n")


SIMPLE_PLACER = """
with tf.device("/cpu:0"):
    a = tf.Variable(3.0, name="a")
    b = tf.constant(4.0, name="b")

c = a * b
config = tf.ConfigProto()
config.log_device_placement = True
sess = tf.Session(config=config)
a.initializer.run(session=sess)
print("again")
print(sess.run(c))
"""


def test_the_simple_placer_logs_each_node_once(run_python):
    out = run_python(IMPORT + SIMPLE_PLACER, SITUS_VIRTUAL_GPUS="1")
    first, _, second = out.removeprefix(mapping(1)).partition("again\n")
    assert set(first.splitlines()) == placed(
        a="CPU:0", a__read="CPU:0", mul="GPU:0", a__Assign="CPU:0", b="CPU:0", a__initial_value="CPU:0"
    )
    assert second == "12.0\n"


FUNCTION = """
def variables_on_cpu(op):
    if op.type == "Variable":
        return "/cpu:0"
    else:
        return "/gpu:0"

with tf.device(variables_on_cpu):
    a = tf.Variable(3.0)
    b = tf.constant(4.0)
    c = a * b
"""


def test_a_device_function(run_python):
    ask = "print(a.op.device, b.op.device, c.op.device)\n"
    ask += "sess = tf.Session()\nsess.run(a.initializer)\nprint(sess.run(c))"
    out = run_python(IMPORT + FUNCTION + ask, SITUS_VIRTUAL_GPUS="1")
    assert out == "/cpu:0 /gpu:0 /gpu:0\n12.0\n"


INTEGER = """
with tf.device("/gpu:0"):
    i = tf.Variable(3)
"""


def test_integer_variables_have_no_gpu_kernel(run_python):
    out = run_python(IMPORT + INTEGER + "tf.Session().run(i.initializer)", fails=True, SITUS_VIRTUAL_GPUS="1")
    assert "Cannot assign a device to node 'Variable': Could not satisfy explicit device specification" in out
    assert "no supported kernel for GPU devices" in out


def test_soft_placement_falls_back_to_the_cpu(run_python):
    soft = "config = tf.ConfigProto()\nconfig.allow_soft_placement = True\nsess = tf.Session(config=config)\n"
    run = "sess.run(i.initializer) # the placer runs and falls back to /cpu:0\nprint(sess.run(i))\n"
    why = "print(sess.placement()['Variable'])"
    out = run_python(IMPORT + INTEGER + soft + run + why, SITUS_VIRTUAL_GPUS="1")
    assert "3\nVariable -> CPU:0 (soft: no int32 kernel for Variable on GPU)\n" in out
