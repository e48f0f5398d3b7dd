"""ONNX graphs of this program's U-Nets and policies (PROTOCOL 1.6, 1.8), for convert_checkpoint.py; needs onnx and numpy.

A U-Net: input [n, 1, height, width], a normalised zero-filled image, whose sides are multiples of 2^pools; output alike.
A policy: observation [n, 1, height, width] and mask [n, actions], 1 where an action is acquired; logits [n, actions] and value
[n, 1]. Parameters are initialisers under the names of the public implementations.
"""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

ENCODER = "features_extractor.extractors.reconstruction_input."
OPSET = 13
# operations that move shapes only, as exporters write them
SHAPES = {"Cast", "Concat", "Constant", "ConstantOfShape", "Flatten", "Gather", "Identity", "Reshape", "Shape", "Slice", "Unsqueeze"}


class Refused(Exception):
    """A graph that is no network of this program, with what it is."""


class Graph:
    """Nodes in the order in which they are computed."""

    def __init__(self, tensors):
        self.tensors, self.nodes, self.constants, self.count = tensors, [], {}, 0

    def add(self, op, inputs, output=None, **attributes):
        self.count += 1
        output = output or f"v{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"n{self.count}", **attributes))
        return output

    def constant(self, name, values):
        self.constants[name] = numpy.asarray(values, numpy.float32)
        return name

    def conv(self, x, name, output=None):
        side = self.tensors[name + ".weight"].shape[2]
        return self.add("Conv", [x, name + ".weight", name + ".bias"], output, kernel_shape=[side, side],
                        pads=[side // 2] * 4)

    def layer(self, x, name):
        """Convolution, instance norm without parameters, ReLU."""
        channels = self.tensors[name + ".weight"].shape[0]
        norm = self.add("InstanceNormalization", [self.conv(x, name), self.constant(f"ones_{channels}", [1] * channels),
                                                  self.constant(f"zeros_{channels}", [0] * channels)], epsilon=1e-5)
        return self.add("Relu", [norm])

    def block(self, x, name):
        return self.layer(self.layer(x, name + ".layers.0"), name + ".layers.4")

    def pool(self, x):
        return self.add("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])

    def up(self, x):
        return self.add("Resize", [x, "", self.constant("twice", [1, 1, 2, 2])], mode="linear",
                        coordinate_transformation_mode="half_pixel")

    def linear(self, x, name, output=None):
        return self.add("Gemm", [x, name + ".weight", name + ".bias"], output, transB=1)


def unet(graph, network):
    x, skips = "input", []
    for i in range(network.pools):
        skips.append(graph.block(x, f"down_sample_layers.{i}"))
        x = graph.pool(skips[-1])
    x = graph.block(x, "conv")
    for i in range(network.pools):
        x = graph.block(graph.add("Concat", [graph.up(x), skips.pop()], axis=1), f"up_sample_layers.{i}")
    graph.conv(graph.conv(graph.conv(x, "conv2.0"), "conv2.1"), "conv2.2", "output")


def policy(graph, network):
    x = graph.layer("observation", ENCODER + "channel_layer.layers.0")
    for i in range(network.pools):
        x = graph.pool(graph.layer(x, f"{ENCODER}down_sample_layers.{i}.layers.0"))
    x = graph.add("Flatten", [x])
    for place in (0, 2):
        x = graph.add("LeakyRelu", [graph.linear(x, f"{ENCODER}fc_out.{place}")], alpha=0.01)
    graph.linear(x, ENCODER + "fc_out.4", "logits")
    graph.linear(graph.add("Concat", ["mask", "logits"], axis=1), "value_net", "value")


BUILDERS = {"unet": (unet, ["input"], ["output"]), "policy": (policy, ["observation", "mask"], ["logits", "value"])}


def build(network, tensors):
    """The graph of a network (convert_checkpoint.py's UNet or Policy) and its constants."""
    graph = Graph(tensors)
    BUILDERS[network.facts["network"]][0](graph, network)
    return graph


def write(path, network, tensors, facts):
    graph = build(network, tensors)
    _, inputs, outputs = BUILDERS[network.facts["network"]]
    sides = {"mask": ["n", network.actions], "logits": ["n", network.actions], "value": ["n", 1],
             "observation": ["n", 1, *network.image]}

    def ports(names):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, sides.get(name, ["n", 1, "height", "width"]))
                for name in names]

    held = [numpy_helper.from_array(values, name) for name, values in {**tensors, **graph.constants}.items()]
    model = helper.make_model(helper.make_graph(graph.nodes, network.text, ports(inputs), ports(outputs), held),
                              producer_name="l2sr", opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    helper.set_model_props(model, {name: str(value) for name, value in facts.items()})
    onnx.checker.check_model(model)
    onnx.save(model, path)


def steps(nodes, values):
    """What a graph computes: an entry a node that is no matter of shapes, with all that must be as in ours."""
    found = []
    for node in nodes:
        if node.op_type in SHAPES:
            continue
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type in ("Conv", "Gemm"):
            found.append((node.op_type, node.input[1], *(attributes.get(name, standard) for name, standard in (
                ("strides", [1, 1]), ("dilations", [1, 1]), ("group", 1), ("pads", [0] * 4), ("transB", 0), ("alpha", 1.0),
                ("beta", 1.0)))))
        elif node.op_type == "InstanceNormalization":
            scale, bias = (values.get(name) for name in node.input[1:3])
            plain = (scale is None or (scale == 1).all()) and (bias is None or not bias.any())
            found.append(("InstanceNormalization", "plain" if plain else "with parameters", round(attributes.get("epsilon", 1e-5), 9)))
        elif node.op_type == "MaxPool":
            found.append(("MaxPool", attributes["kernel_shape"], attributes.get("strides", [1, 1]), attributes.get("pads", [0] * 4)))
        elif node.op_type == "Resize":
            mode = attributes.get("coordinate_transformation_mode", b"half_pixel").replace(b"pytorch_", b"")
            found.append(("Resize", attributes.get("mode", b"nearest"), mode))
        elif node.op_type == "LeakyRelu":
            found.append(("LeakyRelu", round(attributes.get("alpha", 0.01), 6)))
        else:
            found.append((node.op_type,))
    return found


def read(path):
    """(tensors by name, facts, nodes); the caller knows which network the names are of, and asks `check`."""
    model = onnx.load(path)
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            values[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    named = {name: value for name, value in values.items() if name.endswith((".weight", ".bias"))}
    return named, {prop.key: prop.value for prop in model.metadata_props}, (list(model.graph.node), values)


def check(network, tensors, content, plain):
    """Refuses a graph that computes something else than the network of these parameters."""
    nodes, values = content
    ours = build(network, tensors)
    expected = steps(ours.nodes, ours.constants)
    found = [(step[0], plain(step[1]), *step[2:]) if step[0] in ("Conv", "Gemm") else step for step in steps(nodes, values)]
    for place, (mine, other) in enumerate(zip(expected, found)):
        if mine != other:
            raise Refused(f"its operation {place + 1} is {' '.join(map(str, other))}, and {network.kind} has "
                          f"{' '.join(map(str, mine))} there")
    if len(found) != len(expected):
        more = found[len(expected):] or expected[len(found):]
        raise Refused(f"it has {len(found)} operations, and {network.kind} has {len(expected)}: {more[0][0]} is the first "
                      + ("too many" if len(found) > len(expected) else "that is missing"))
