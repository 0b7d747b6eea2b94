/** From a softmax down to the product of its weights with values. */

import type { Graph, Operator } from '../model/graph.ts';
import { axisBehind } from './axis.ts';
import { readersOf } from './flow.ts';
import { matrixProduct } from './matrixProduct.ts';
import { casts, isScalar, views } from './walk.ts';

export interface Weights {
  /** What lies between the softmax and the product, then the product. */
  readonly operators: readonly Operator[];
  readonly product: Operator;
  readonly value: string;
  /** Rows without a key become zeros: exporters write that for a mask of `scaled_dot_product_attention`. */
  readonly isGuarded: boolean;
  /** Something else reads them, so that they are stored. */
  readonly isShared: boolean;
  /** They are multiplied by a tensor, which no attention kernel does. */
  readonly isChanged: boolean;
  /** What is left of them where some are cut off. */
  readonly cutTo: string | undefined;
}

export function followWeights(graph: Graph, softmax: Operator, axis: number): Weights | undefined {
  return follow(graph, softmax.outputs[0] ?? '', axis, 8);
}

function follow(graph: Graph, name: string, axis: number, hops: number): Weights | undefined {
  if (hops === 0) return undefined;
  const readers = readersOf(graph, name);
  const guard = guardOf(graph, name, readers);
  if (guard !== undefined) {
    const rest = follow(graph, guard.choice.outputs[0] ?? '', axis, hops - 1);
    if (rest === undefined) return undefined;
    return {
      ...rest,
      operators: [guard.test, guard.choice, ...rest.operators],
      isGuarded: true,
      isShared: rest.isShared || readers.length > 2,
    };
  }
  for (const reader of readers) {
    const found = throughReader(graph, reader, name, axis, hops);
    if (found !== undefined) return readers.length === 1 ? found : { ...found, isShared: true };
  }
  return undefined;
}

function throughReader(
  graph: Graph,
  reader: Operator,
  name: string,
  axis: number,
  hops: number,
): Weights | undefined {
  const product = matrixProduct(graph, reader);
  if (product !== undefined) {
    const side = product.left === name ? 'left' : 'right';
    if (!product.contracts(side, axis)) return undefined;
    const value = side === 'left' ? product.right : product.left;
    return {
      operators: [reader],
      product: reader,
      value,
      isGuarded: false,
      isShared: false,
      isChanged: false,
      cutTo: undefined,
    };
  }
  const isView = views.has(reader.type);
  if (!isView && !casts.has(reader.type) && !between.has(reader.type)) return undefined;
  const behind = isView ? axisBehind(graph, reader, axis) : axis;
  if (behind === undefined) return undefined;
  const rest = follow(graph, reader.outputs[0] ?? '', behind, hops - 1);
  if (rest === undefined) return undefined;
  const factors = reader.inputs.filter((input) => input !== name);
  const isCut = reader.type === 'Slice';
  const isChanged =
    reader.type === 'Where' ||
    (isCut && rest.cutTo !== undefined) ||
    (scaling.has(reader.type) && factors.some((factor) => !isScalar(graph, factor)));
  return {
    ...rest,
    operators: [reader, ...rest.operators],
    isChanged: rest.isChanged || isChanged,
    ...(isCut ? { cutTo: reader.outputs[0] } : {}),
  };
}

const scaling: ReadonlySet<string> = new Set(['Mul', 'Div']);
const between: ReadonlySet<string> = new Set([...scaling, 'Where', 'Slice', 'Dropout']);

/** `where(isnan(weights), 0, weights)`. */
function guardOf(
  graph: Graph,
  name: string,
  readers: readonly Operator[],
): { readonly test: Operator; readonly choice: Operator } | undefined {
  const test = readers.find(({ type }) => type === 'IsNaN');
  const choice = test === undefined ? undefined : readersOf(graph, test.outputs[0])[0];
  return test !== undefined && choice?.type === 'Where' && choice.inputs[2] === name
    ? { test, choice }
    : undefined;
}
