/** Which nodes hold graphs: asked of every node by several passes, and true of nearly none. */

/** Sets of attributes without a graph; nodes of one kind share theirs. */
const plain = new WeakSet<object>();

/** Whether one of these attributes, of a node or an operator, is a graph or a list of graphs. */
export function holdsGraph(attributes: ReadonlyMap<string, { readonly kind: string }>): boolean {
  if (attributes.size === 0 || plain.has(attributes)) return false;
  for (const { kind } of attributes.values()) if (kind === 'graph' || kind === 'graphs') return true;
  plain.add(attributes);
  return false;
}
