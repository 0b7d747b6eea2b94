/**
 * Parameters that constant folding has looked up or repeated, put back in front of what reads them.
 *
 * A table of relative position biases (Swin: Liu et al., arXiv 2103.14030) has a row for each distance, and is looked up with
 * constant indices, which exporters do beforehand: the file then stores a row for each pair of positions. A class token is
 * repeated for each image of the example. What is trained is the table and the token; how many rows a table has, vectors that
 * are alike show (`formats/onnx/repeatedVectors.ts`), as far as every row is used.
 */

import type { OnnxNode } from '../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import { countElements } from '../model/countElements.ts';
import { isInteger } from '../model/elementType.ts';
import { isLookUpName } from '../model/tensorNames.ts';
import type { FlatNode, StoredGraph } from './expandFunctions.ts';

export function restoreTables(stored: StoredGraph): StoredGraph {
  const { nodes, graph } = stored;
  const replaced = new Map<string, Restored>();
  const tables = new Map(graph.initializers.map((tensor) => [tensor.name, tensor]));
  for (const tensor of graph.initializers) {
    const restored = restore(tensor, tables);
    if (restored === undefined) continue;
    replaced.set(tensor.name, restored);
    for (const made of restored.initializers) tables.set(made.name, made);
  }
  if (replaced.size === 0) return stored;
  const put = new Set<string>();
  return {
    nodes: nodes.flatMap((flat) => [
      ...flat.node.inputs.flatMap((name) => {
        const restored = put.has(name) ? undefined : replaced.get(name);
        put.add(name);
        return restored?.nodes.map((node) => inScopeOf(flat, node)) ?? [];
      }),
      flat,
    ]),
    graph: {
      ...graph,
      initializers: graph.initializers.flatMap(
        (tensor) => replaced.get(tensor.name)?.initializers ?? [tensor],
      ),
    },
  };
}

interface Restored {
  readonly initializers: readonly TensorLiteral[];
  /** They compute the tensor; names and metadata are left to the scope that they are put in. */
  readonly nodes: readonly Pick<OnnxNode, 'type' | 'inputs' | 'outputs' | 'attributes'>[];
}

/** `tables`: every tensor that is stored, by name. */
function restore(
  { name, elementType, dimensions, storedBytes, origin }: TensorLiteral,
  tables: ReadonlyMap<string, TensorLiteral>,
): Restored | undefined {
  if (origin?.repeats === undefined) return undefined;
  const { repeats, foldedFrom = [], ...known } = origin;
  const { broadcastAxis, lookup, alike = [], isAssumed } = repeats;
  const isBroadcast = broadcastAxis !== undefined;
  const slice = dimensions.map((size, axis) => (axis === broadcastAxis || alike.includes(axis) ? 1 : size));
  const width = slice[lookup?.axis ?? 0] ?? 1;
  // One row for all tokens is of a table of which nothing else shows.
  const isRow = alike.length > 0 && [name, ...foldedFrom].some(isLookUpName);
  const isCertain =
    lookup === undefined ? !isRow : isTableOfOffsets(lookup.distinct, countElements(slice) / width);
  // A table that nothing is recorded of may be computed, but for the one form that programs train.
  const arePositions = isInteger(elementType) && isBroadcast;
  if (origin.parameter === undefined && !arePositions && !(isCertain && lookup !== undefined))
    return undefined;
  const trained = lookup === undefined ? slice : [lookup.distinct, width];
  const before = tables.get(origin.parameter ?? name);
  const isSame = before !== undefined && before.dimensions.join() === trained.join();
  // The same parameter in front of what reads it turned: `[1, 4, 32]` as it is, `[4, 1, 32]` for attention.
  const isView =
    before !== undefined && !isSame && wideOf(before.dimensions).join() === wideOf(trained).join();
  const isOther = before !== undefined && !isSame && !isView;
  const table: TensorLiteral = {
    name: origin.parameter === undefined || isOther ? `${name} (table)` : origin.parameter,
    elementType,
    dimensions: trained,
    storedBytes,
    origin: isAssumed
      ? { ...known, mayRepeat: true }
      : isCertain
        ? known
        : isRow
          ? { ...known, foldedFrom: [...foldedFrom, name] }
          : origin,
  };
  const initializers = before === undefined || isOther ? [table] : [];
  const nodes: Restored['nodes'][number][] = [];
  let source = table.name;
  if (isView) {
    const shape = integers(`${name} (view of)`, [trained.length], trained);
    initializers.push(shape);
    source = `${name} (view)`;
    nodes.push(operator('Reshape', [table.name, shape.name], source));
  }
  if (lookup !== undefined) {
    const others = slice.filter((_size, index) => index !== lookup.axis);
    const indices = integers(`${name} (indices)`, [...others, 1]);
    initializers.push(indices);
    nodes.push(operator('GatherND', [source, indices.name], `${name} (looked up)`));
    const order = slice.map((_size, index) =>
      index === lookup.axis ? slice.length - 1 : index < lookup.axis ? index : index - 1,
    );
    nodes.push({
      ...operator('Transpose', [`${name} (looked up)`], isBroadcast ? `${name} (slice)` : name),
      attributes: new Map([['perm', { kind: 'ints', value: order }]]),
    });
    source = `${name} (slice)`;
  }
  if (isBroadcast) {
    const shape = integers(`${name} (shape)`, [dimensions.length], dimensions);
    initializers.push(shape);
    nodes.push(operator('Expand', [source, shape.name], name));
  }
  return { initializers, nodes };
}

const wideOf = (dimensions: readonly number[]): readonly number[] => dimensions.filter((size) => size !== 1);

const operator = (type: string, inputs: readonly string[], output: string): Restored['nodes'][number] => ({
  type,
  inputs,
  outputs: [output],
  attributes: new Map(),
});

/** Whether so many rows are one for each offset between places of a window, for `pairs` of places. */
function isTableOfOffsets(rows: number, pairs: number): boolean {
  const places = Math.sqrt(pairs);
  for (let height = 2; height * height <= places; height += 1) {
    const width = places / height;
    if (Number.isInteger(width) && rows === (2 * height - 1) * (2 * width - 1)) return true;
  }
  return false;
}

const integers = (
  name: string,
  dimensions: readonly number[],
  elements?: readonly number[],
): TensorLiteral => ({
  name,
  elementType: 'int64',
  dimensions,
  storedBytes: 0,
  ...(elements === undefined ? {} : { elements }),
});

/** A node of the module that `reader` stands in. */
function inScopeOf(reader: FlatNode, node: Restored['nodes'][number]): FlatNode {
  const slash = reader.node.name.lastIndexOf('/');
  const name = `${reader.node.name.slice(0, slash + 1)}${node.type} of ${node.inputs[0]}`;
  const { metadata } = reader.node;
  return { ...reader, node: { ...node, name, domain: '', overload: '', metadata } };
}
