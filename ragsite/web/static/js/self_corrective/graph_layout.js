// Places a small directed graph in layers, top to bottom (Sugiyama, Tagawa and Toda, 1981): edges that lead back are
// turned for the layout, long edges get a point in every layer they cross, and layers are ordered by their neighbours.
const SWEEPS = 8;

/**
 * @typedef {{x: number, y: number}} Point in px
 * @typedef {[from: string, to: string]} Link between points of neighbouring layers, downwards
 * @typedef {Boot.Graph["edges"][number] & {back: boolean}} Edge `back`: it leads up
 * @typedef {Edge & {chain: string[]}} ChainedEdge `chain`: its points' ids, from the upper layer to the lower
 * @typedef {Edge & {points: Point[]}} PlacedEdge
 */

/**
 * @param {Boot.Graph} graph
 * @returns {{width: number, height: number, nodes: Record<string, Point>, edges: PlacedEdge[]}} in px
 */
export function layOut(graph, { nodeWidth = 104, layerGap = 62, columnGap = 24 } = {}) {
  const edges = graph.edges.map((edge) => ({ ...edge, back: false }));
  markBackEdges(graph.nodes, edges);
  const rank = rankNodes(graph.nodes, edges);
  /** @type {string[][]} */
  const layers = [];
  const place = (/** @type {string} */ id, /** @type {number} */ layer) => (layers[layer] ??= []).push(id);
  for (const id of graph.nodes) place(id, rank[id]);
  const chained = edges.map((edge) => {
    const [from, to] = edge.back ? [edge.target, edge.source] : [edge.source, edge.target];
    const chain = [from];
    for (let layer = rank[from] + 1; layer < rank[to]; layer += 1) {
      const point = `${from}>${to}@${layer}`;
      if (!layers[layer].includes(point)) place(point, layer);
      chain.push(point);
    }
    return { ...edge, chain: [...chain, to] };
  });
  const links = chained.flatMap(({ chain }) => chain.slice(1).map((id, index) => /** @type {Link} */ ([chain[index], id])));
  return measure(orderLayers(layers, links), chained, graph.nodes, { nodeWidth, layerGap, columnGap, links });
}

/** @param {string[]} nodes @param {Edge[]} edges */
function markBackEdges(nodes, edges) {
  const state = new Map();
  const visit = (/** @type {string} */ id) => {
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

/** Each node's layer: the longest way to it. @param {string[]} nodes @param {Edge[]} edges */
function rankNodes(nodes, edges) {
  const rank = Object.fromEntries(nodes.map((id) => [id, 0]));
  for (let pass = 0; pass < nodes.length; pass += 1) {
    for (const { source, target, back } of edges) {
      if (!back) rank[target] = Math.max(rank[target], rank[source] + 1);
    }
  }
  return rank;
}

/** @param {string[][]} layers @param {Link[]} links */
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
      const weight = Object.fromEntries(current[index].map((id, at) => {
        const near = links.filter(([from, to]) => (down ? to : from) === id).map(([from, to]) => beside.indexOf(down ? from : to));
        return [id, near.length ? mean(near) : at];
      }));
      current[index].sort((left, right) => weight[left] - weight[right]);
    }
    const count = crossings(current, links);
    if (count < fewest) [best, fewest] = [current, count];
  }
  return best;
}

/** @param {number[]} values */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** @param {string[][]} layers @param {Link[]} links */
function crossings(layers, links) {
  const at = Object.fromEntries(layers.flatMap((layer, index) => layer.map((id, column) => [id, { layer: index, column }])));
  let count = 0;
  links.forEach(([from, to], index) => {
    for (const [other, end] of links.slice(index + 1)) {
      if (at[from].layer !== at[other].layer) continue;
      if ((at[from].column - at[other].column) * (at[to].column - at[end].column) < 0) count += 1;
    }
  });
  return count;
}

/**
 * @param {string[][]} layers
 * @param {ChainedEdge[]} edges
 * @param {string[]} nodes
 * @param {{nodeWidth: number, layerGap: number, columnGap: number, links: Link[]}} sizes
 */
function measure(layers, edges, nodes, { nodeWidth, layerGap, columnGap, links }) {
  const known = new Set(nodes);
  const widthOf = (/** @type {string} */ id) => (known.has(id) ? nodeWidth : columnGap);
  const x = straighten(layers, links, (left, right) => (widthOf(left) + widthOf(right)) / 2 + columnGap);
  const ids = layers.flat();
  const leftmost = Math.min(...ids.map((id) => x[id] - widthOf(id) / 2));
  const width = Math.max(...ids.map((id) => x[id] + widthOf(id) / 2)) - leftmost;
  const place = Object.fromEntries(layers.flatMap((layer, index) => layer.map((id) => [id, { x: x[id] - leftmost, y: index * layerGap }])));
  return {
    width,
    height: (layers.length - 1) * layerGap,
    nodes: Object.fromEntries(nodes.map((id) => [id, place[id]])),
    edges: edges.map(({ chain, ...edge }) => {
      const points = chain.map((id) => place[id]);
      return { ...edge, points: edge.back ? points.reverse() : points };
    }),
  };
}

/**
 * Each node near the middle of its neighbours, in its layer's order and at least `apart(left, right)` px from the next.
 * @param {string[][]} layers
 * @param {Link[]} links
 * @param {(left: string, right: string) => number} apart
 */
function straighten(layers, links, apart) {
  /** @type {Record<string, number>} */
  const x = {};
  for (const layer of layers) {
    let at = 0;
    layer.forEach((id, index) => {
      at += index ? apart(layer[index - 1], id) : 0;
      x[id] = at;
    });
    for (const id of layer) x[id] -= at / 2;
  }
  for (let sweep = 0; sweep < 4 * SWEEPS; sweep += 1) {
    for (const layer of sweep % 2 ? layers : [...layers].reverse()) {
      const wanted = layer.map((id) => {
        const near = links.flatMap(([from, to]) => (from === id ? [x[to]] : to === id ? [x[from]] : []));
        return near.length ? mean(near) : x[id];
      });
      const right = [...wanted];
      for (let at = 1; at < layer.length; at += 1) right[at] = Math.max(right[at], right[at - 1] + apart(layer[at - 1], layer[at]));
      const left = [...wanted];
      for (let at = layer.length - 2; at >= 0; at -= 1) left[at] = Math.min(left[at], left[at + 1] - apart(layer[at], layer[at + 1]));
      layer.forEach((id, at) => { x[id] = (left[at] + right[at]) / 2; }); // both keep the distances, so their mean does
    }
  }
  return x;
}
