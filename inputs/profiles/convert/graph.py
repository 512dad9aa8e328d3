"""Profiled graphs of layers, in the text format of PipeDream's profiler, which DAPPLE's files share.

A line per node, `nodeN -- name -- forward_compute_time=MS, backward_compute_time=MS, activation_size=BYTES,
parameter_size=BYTES`, where a node with several outputs has `[BYTES; BYTES]`; an indented line per edge,
`nodeN -- nodeM`.
"""

import heapq
import re
from dataclasses import dataclass, field

NODE = re.compile(
    r"node(\d+) -- (.*) -- forward_compute_time=([\d.]+), backward_compute_time=([\d.]+), "
    r"activation_size=(\[[^\]]*\]|[\d.]+), parameter_size=([\d.]+)"
)
EDGE = re.compile(r"node(\d+) -- node(\d+)")


@dataclass
class Node:
    """An operation as it was profiled, for the whole batch."""

    number: int
    name: str
    forward: float = 0.0  # seconds
    backward: float = 0.0  # seconds
    activation: float = 0.0  # bytes of all outputs
    parameters: float = 0.0  # bytes
    successors: list = field(default_factory=list)  # numbers
    predecessors: list = field(default_factory=list)

    @property
    def is_free(self):
        """Neither time nor parameters: a view, a sum whose time was not taken."""
        return self.forward == self.backward == self.parameters == 0.0

    @property
    def kept(self):
        """Bytes that it keeps from its forward to its backward pass: its outputs, unless it has no backward pass or
        wrote them over its inputs."""
        return 0.0 if self.backward == 0.0 or "inplace" in self.name else self.activation


def read_graph(path):
    """The nodes of a file by number, without the sources called Input: data is read where it is needed."""
    nodes = {}
    edges = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            node, edge = NODE.fullmatch(line.strip()), EDGE.fullmatch(line.strip())
            if edge:
                edges.append((int(edge[1]), int(edge[2])))
            elif node:
                activation = sum(float(part) for part in node[5].strip("[]").split("; "))
                nodes[int(node[1])] = Node(int(node[1]), node[2], float(node[3]) / 1e3, float(node[4]) / 1e3,
                                           activation, float(node[6]))
            else:
                raise ValueError(f"{path}:{number}: neither a node nor an edge")
    fed = {end for _, end in edges}
    inputs = {n for n, node in nodes.items() if n not in fed and node.name.startswith("Input")}
    for begin, end in edges:
        if begin not in inputs:
            nodes[begin].successors.append(end)
            nodes[end].predecessors.append(begin)
    return {n: node for n, node in nodes.items() if n not in inputs}


def topological_order(nodes):
    """The nodes, each behind all it needs; of those that could be next, the one of the lowest number."""
    missing = {n: len(node.predecessors) for n, node in nodes.items()}
    ready = [n for n, count in missing.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        order.append(node)
        for successor in node.successors:
            missing[successor] -= 1
            if missing[successor] == 0:
                heapq.heappush(ready, successor)
    if len(order) != len(nodes):
        raise ValueError("the graph has a cycle")
    return order


def crossing(order):
    """For each node of the order, the nodes whose outputs cross the cut behind it: each once, however many need it."""
    place = {node.number: i for i, node in enumerate(order)}
    last_use = [max((place[s] for s in node.successors), default=i) for i, node in enumerate(order)]
    return [[node for j, node in enumerate(order[: i + 1]) if last_use[j] > i] for i in range(len(order))]


def layers_of(nodes, cuts="all"):
    """The graph as a chain: a list of (nodes of the layer, bytes that cross to the next layer).

    Nodes that are free join the layer before them. `cuts="narrow"` leaves only cuts that one tensor crosses, so that
    a residual block is one layer.
    """
    order = topological_order(nodes)
    cut = crossing(order)
    chain = []
    open_nodes = []
    for i, node in enumerate(order):
        open_nodes.append(node)
        if i + 1 < len(order):
            if order[i + 1].is_free or all(n.is_free for n in open_nodes):
                continue
            if cuts == "narrow" and len(cut[i]) != 1:
                continue
        chain.append((open_nodes, sum(n.activation for n in cut[i])))
        open_nodes = []
    return chain


def layer_names(chain):
    """A name for each layer: that of its first node with work, numbered where several have it."""
    heads = [next((n for n in nodes if not n.is_free), nodes[0]) for nodes, _ in chain]
    short = [re.sub(r"\(.*", "", head.name).strip() for head in heads]
    return [f"{name}.{head.number}" if short.count(name) > 1 else name for name, head in zip(short, heads)]
