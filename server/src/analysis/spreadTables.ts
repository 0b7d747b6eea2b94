/**
 * Rows that the TorchScript exporter folded before a program spreads them over the batch: queries of DETR, latents, prompts. They are
 * `queries.weight.unsqueeze(0)` behind `.expand(batch, -1, -1)` or `.repeat(batch, 1, 1)`.
 */

import { type Graph, isKnownShape, type Operator, type Value } from '../model/graph.ts';
import { hasTrait, passesElements } from '../operators/operatorFacts.ts';

/**
 * Whether all that reads the spread rows adds them, joins them to others, normalizes them or multiplies them with a stored matrix.
 * Frequencies have one axis or go through sine and cosine, tables of rotary positions multiply, coordinates have few numbers.
 */
export function isSpreadTable(graph: Graph, { name, type, consumers }: Value): boolean {
  if (!/^onnx::Expand_\d+$/.test(name) || type.kind !== 'tensor' || !isKnownShape(type.shape)) return false;
  const { shape } = type;
  const width = shape.at(-1);
  const isTable = shape[0] === 1 && shape.filter((size) => size !== 1).length === 2;
  if (!isTable || typeof width !== 'number' || width <= mostCoordinates) return false;
  const readers = readersBehind(graph, name, consumers);
  return readers.length > 0 && readers.every((reader) => isOfLayers(graph, reader));
}

/** A box has four. */
const mostCoordinates = 4;

interface Reader {
  readonly operator: Operator;
  readonly position: number;
}

/** What reads its elements behind operators that only pass or copy them. */
function readersBehind(graph: Graph, name: string, consumers: readonly number[]): readonly Reader[] {
  return consumers.flatMap((index): readonly Reader[] => {
    const operator = graph.operators[index];
    if (operator === undefined) return [];
    const position = operator.inputs.indexOf(name);
    const isCopied = position === 0 && hasTrait(operator, 'copies-elements');
    if (!isCopied && !passesElements(operator, position)) return [{ operator, position }];
    return operator.outputs.flatMap((output) =>
      readersBehind(graph, output, graph.values.get(output)?.consumers ?? []),
    );
  });
}

function isOfLayers({ values }: Graph, { operator, position }: Reader): boolean {
  const { type, inputs } = operator;
  if (type === 'Add' || type === 'Concat') return true;
  if (position !== 0) return false;
  const weight = values.get(inputs[1] ?? '');
  const isStored = weight?.literal !== undefined && weight.producer === undefined;
  return type === 'LayerNormalization' || (isStored && (type === 'MatMul' || type === 'Gemm'));
}
