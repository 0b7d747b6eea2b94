/** What exporters write between queries, keys and values and the products that read them, as part of one call. */

import type { Graph, Operator } from '../model/graph.ts';
import { intAttribute, sameShape, shapeOf } from './axis.ts';
import { casts, isScalar, producerOf, readersOf } from './walk.ts';

export interface OperandChain {
  /** The tensor that the call was given. */
  readonly source: string;
  /** What the exporter wrote between it and the product. */
  readonly operators: readonly Operator[];
  /** The number that it is multiplied by, right before the product. */
  readonly scale: string | undefined;
  /** Heads are repeated for queries that share them, within the call. */
  readonly isRepeated: boolean;
}

/** Queries: scaled. */
export const queryChain = (graph: Graph, name: string, product: Operator): OperandChain =>
  chainOf(graph, name, product, false, false);

/** Keys: scaled and transposed, by a reshape to three axes and back where the exporter writes that; repeated by heads. */
export const keyChain = (graph: Graph, name: string, product: Operator, isRepeated: boolean): OperandChain =>
  chainOf(graph, name, product, true, isRepeated);

/** Values: repeated by heads. */
export function valueChain(graph: Graph, name: string, product: Operator): OperandChain {
  const reshape = readOnce(graph, name, product, 'Reshape');
  const isOwn = reshape !== undefined && intAttribute(reshape, 'allowzero') !== 1;
  const repeat = isOwn ? repeatBefore(graph, reshape) : undefined;
  if (reshape === undefined || repeat === undefined)
    return { source: name, operators: [], scale: undefined, isRepeated: false };
  return {
    source: repeat.source,
    operators: [...repeat.operators, reshape],
    scale: undefined,
    isRepeated: true,
  };
}

function chainOf(
  graph: Graph,
  name: string,
  product: Operator,
  isTransposed: boolean,
  isRepeated: boolean,
): OperandChain {
  const operators: Operator[] = [];
  let source = name;
  let reader = product;
  let scale: string | undefined;
  const take = (operator: Operator | undefined): boolean => {
    if (operator === undefined) return false;
    operators.unshift(operator);
    source = operator.inputs.find((input) => !isScalar(graph, input)) ?? operator.inputs[0] ?? '';
    reader = operator;
    return true;
  };
  const scaling = (): void => {
    const factor = scale === undefined ? scalingOf(graph, source, reader) : undefined;
    if (factor === undefined) return;
    scale = factor.scale;
    take(factor.operator);
  };
  scaling();
  if (isTransposed) {
    const joined = readOnce(graph, source, reader, 'Reshape');
    const within = joined && readOnce(graph, joined.inputs[0] ?? '', joined, 'Transpose');
    if (joined !== undefined && within !== undefined) {
      const parted = readOnce(graph, within.inputs[0] ?? '', within, 'Reshape');
      const isPair = parted !== undefined && rankOf(graph, within.inputs[0]) === 3;
      if (isPair) {
        take(joined);
        take(within);
        // The reshape to three axes may also be the end of a repetition that stands before the call.
        const repeat = repeatBefore(graph, parted);
        if (repeat === undefined) take(parted);
        else if (isRepeated) {
          take(parted);
          for (const operator of repeat.operators.toReversed()) take(operator);
          source = repeat.source;
        }
      }
    } else take(readOnce(graph, source, reader, 'Transpose'));
    scaling();
    const reshape = isRepeated ? readOnce(graph, source, reader, 'Reshape') : undefined;
    const repeat = reshape && repeatBefore(graph, reshape);
    if (reshape !== undefined && repeat !== undefined) {
      take(reshape);
      for (const operator of repeat.operators.toReversed()) take(operator);
      source = repeat.source;
    }
  }
  return { source, operators, scale, isRepeated };
}

/** `Unsqueeze → Expand` before a reshape that joins the new axis with heads; the expansion is written out in full. */
function repeatBefore(
  graph: Graph,
  reshape: Operator,
): { readonly source: string; readonly operators: readonly Operator[] } | undefined {
  const expand = readOnce(graph, reshape.inputs[0] ?? '', reshape, 'Expand');
  const unsqueeze = expand && readOnce(graph, expand.inputs[0] ?? '', expand, 'Unsqueeze');
  if (expand === undefined || unsqueeze === undefined) return undefined;
  const target = graph.values.get(expand.inputs[1] ?? '')?.content?.elements;
  const isWhole = target === undefined || sameShape(target, shapeOf(graph, expand.outputs[0]));
  return isWhole ? { source: unsqueeze.inputs[0] ?? '', operators: [unsqueeze, expand] } : undefined;
}

/** The producer of `name` where it is of this type and only `reader` reads it. */
function readOnce(graph: Graph, name: string, reader: Operator, type: string): Operator | undefined {
  const producer = producerOf(graph, name);
  if (producer?.type !== type || graph.outputs.includes(name)) return undefined;
  return readersOf(graph, name).every((each) => each === reader) ? producer : undefined;
}

/** A product with one number right before `reader`, casts looked through. */
function scalingOf(
  graph: Graph,
  name: string,
  reader: Operator,
): { readonly operator: Operator; readonly scale: string } | undefined {
  const operator = readOnce(graph, name, reader, 'Mul') ?? readOnce(graph, name, reader, 'Div');
  const scale = operator?.inputs.find((input) => isScalar(graph, input));
  return operator === undefined || scale === undefined || casts.has(operator.type)
    ? undefined
    : { operator, scale };
}

const rankOf = (graph: Graph, name: string | undefined): number | undefined => shapeOf(graph, name)?.length;
