// Places a small directed graph in layers, top to bottom (Sugiyama, Tagawa and Toda, 1981): edges that lead back are
// turned for the layout, long edges get a point in every layer they cross, and layers are ordered by their neighbours.
const SWEEPS = 8;

/** `graph`: {nodes: [id], edges: [{source, target}]}. Returns {width, height, nodes: {id: {x, y}}, edges: [{…edge, points, back}]}, in px. */
export function layOut(graph, { nodeWidth = 104, layerGap = 62, columnGap = 24 } = {}) {
  const edges = graph.edges.map((edge) => ({ ...edge, back: false }));
  markBackEdges(graph.nodes, edges);
  const rank = rankNodes(graph.nodes, edges);
  const layers = [];
  const place = (id, layer) => (layers[layer] ??= []).push(id);
  for (const id of graph.nodes) place(id, rank.get(id));
  const links = [];
  for (const edge of edges) {
    const [from, to] = edge.back ? [edge.target, edge.source] : [edge.source, edge.target];
    edge.chain = [from];
    for (let layer = rank.get(from) + 1; layer < rank.get(to); layer += 1) {
      const point = `${from}>${to}@${layer}`;
      if (!layers[layer].includes(point)) place(point, layer);
      edge.chain.push(point);
    }
    edge.chain.push(to);
    for (let index = 1; index < edge.chain.length; index += 1) links.push([edge.chain[index - 1], edge.chain[index]]);
  }
  const best = orderLayers(layers, links);
  return measure(best, edges, graph.nodes, { nodeWidth, layerGap, columnGap, links });
}

function markBackEdges(nodes, edges) {
  const state = new Map();
  const visit = (id) => {
    state.set(id, "open");
    for (const edge of edges) {
      if (edge.source !== id) continue;
      if (state.get(edge.target) === "open") edge.back = true;
      else if (!state.has(edge.target)) visit(edge.target);
    }
    state.set(id, "done");
  };
  for (const id of nodes) if (!state.has(id)) visit(id);
}

function rankNodes(nodes, edges) {
  const rank = new Map(nodes.map((id) => [id, 0]));
  for (let pass = 0; pass < nodes.length; pass += 1) {
    for (const { source, target, back } of edges) {
      if (!back) rank.set(target, Math.max(rank.get(target), rank.get(source) + 1));
    }
  }
  return rank;
}

function orderLayers(layers, links) {
  let best = layers.map((layer) => [...layer]);
  let fewest = crossings(best, links);
  let current = best;
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep += 1) {
    const down = sweep % 2 === 0;
    current = current.map((layer) => [...layer]);
    const indices = current.map((_, index) => index);
    for (const index of down ? indices.slice(1) : indices.slice(0, -1).reverse()) {
      const beside = current[down ? index - 1 : index + 1];
      const position = new Map(beside.map((id, at) => [id, at]));
      const weight = new Map(current[index].map((id, at) => {
        const near = links.filter(([from, to]) => (down ? to : from) === id).map(([from, to]) => position.get(down ? from : to));
        return [id, near.length ? near.reduce((sum, at_) => sum + at_, 0) / near.length : at];
      }));
      current[index].sort((left, right) => weight.get(left) - weight.get(right));
    }
    const count = crossings(current, links);
    if (count < fewest) [best, fewest] = [current, count];
  }
  return best;
}

function crossings(layers, links) {
  const at = new Map(layers.flatMap((layer, index) => layer.map((id, column) => [id, { layer: index, column }])));
  let count = 0;
  links.forEach(([from, to], index) => {
    for (const [other, end] of links.slice(index + 1)) {
      if (at.get(from).layer !== at.get(other).layer) continue;
      if ((at.get(from).column - at.get(other).column) * (at.get(to).column - at.get(end).column) < 0) count += 1;
    }
  });
  return count;
}

function measure(layers, edges, nodes, { nodeWidth, layerGap, columnGap, links }) {
  const known = new Set(nodes);
  const widthOf = (id) => (known.has(id) ? nodeWidth : columnGap);
  const x = straighten(layers, links, (left, right) => (widthOf(left) + widthOf(right)) / 2 + columnGap);
  const ids = layers.flat();
  const leftmost = Math.min(...ids.map((id) => x.get(id) - widthOf(id) / 2));
  const width = Math.max(...ids.map((id) => x.get(id) + widthOf(id) / 2)) - leftmost;
  const place = new Map(layers.flatMap((layer, index) => layer.map((id) => [id, { x: x.get(id) - leftmost, y: index * layerGap }])));
  return {
    width,
    height: (layers.length - 1) * layerGap,
    nodes: Object.fromEntries(nodes.map((id) => [id, place.get(id)])),
    edges: edges.map(({ chain, ...edge }) => {
      const points = chain.map((id) => place.get(id));
      return { ...edge, points: edge.back ? points.reverse() : points };
    }),
  };
}

/** Each node near the middle of its neighbours, in its layer's order and at least `apart(left, right)` px from the next. */
function straighten(layers, links, apart) {
  const x = new Map();
  for (const layer of layers) {
    let at = 0;
    layer.forEach((id, index) => {
      at += index ? apart(layer[index - 1], id) : 0;
      x.set(id, at);
    });
    for (const id of layer) x.set(id, x.get(id) - at / 2);
  }
  for (let sweep = 0; sweep < 4 * SWEEPS; sweep += 1) {
    for (const layer of sweep % 2 ? layers : [...layers].reverse()) {
      const wanted = layer.map((id) => {
        const near = links.flatMap(([from, to]) => (from === id ? [x.get(to)] : to === id ? [x.get(from)] : []));
        return near.length ? near.reduce((sum, value) => sum + value, 0) / near.length : x.get(id);
      });
      const right = [...wanted];
      for (let at = 1; at < layer.length; at += 1) right[at] = Math.max(right[at], right[at - 1] + apart(layer[at - 1], layer[at]));
      const left = [...wanted];
      for (let at = layer.length - 2; at >= 0; at -= 1) left[at] = Math.min(left[at], left[at + 1] - apart(layer[at], layer[at + 1]));
      layer.forEach((id, at) => x.set(id, (left[at] + right[at]) / 2)); // both keep the distances, so their mean does
    }
  }
  return x;
}
