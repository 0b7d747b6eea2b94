/** What a person calls a layer, in PyTorch's words, told from the operators it consists of. */

import type { Composites } from '../composites/findComposites.ts';
import { type Graph, isKnownShape, isWeight, type Operator } from '../model/graph.ts';
import { definitionOf } from '../operators/registry.ts';

/**
 * The type of the layer made of these operators (auxiliary ones left out): `Conv2d`, `Linear`, `GELU`, …, or the
 * type of its most telling operator.
 */
export function layerType(operators: readonly Operator[], graph: Graph, composites: Composites): string {
  const [only] = operators;
  if (only === undefined) return 'Constant';
  if (operators.length === 1) return typeOfOne(only, graph);
  const types = new Set(operators.map(({ type }) => type));
  const onlyHas = (...names: readonly string[]): boolean =>
    [...types].every((name) => names.includes(name) || moving.has(name));

  const weighted = operators.filter((operator) => usesParameter(operator, graph));
  const matmuls = operators.filter(({ type }) => type === 'MatMul' || type === 'Gemm');
  const freeMatmuls = matmuls.filter((operator) => !weighted.includes(operator));
  if (types.has('Softmax') && freeMatmuls.length >= 2) {
    return weighted.some(({ type }) => type === 'MatMul' || type === 'Gemm')
      ? 'MultiheadAttention'
      : 'ScaledDotProductAttention';
  }
  if (matmuls.length === 1 && freeMatmuls.length === 0 && onlyHas('MatMul', 'Gemm', 'Add')) return 'Linear';
  const convolutions = operators.filter(({ type }) => type === 'Conv' || type === 'ConvTranspose');
  const [convolution] = convolutions;
  if (convolution !== undefined && convolutions.length === 1) return typeOfOne(convolution, graph);
  const telling = operators.filter(({ type }) => !moving.has(type));
  const [single] = telling;
  const composite = composites.get(single?.index ?? -1);
  if (composite !== undefined && telling.every(({ index }) => composites.get(index) === composite)) {
    return composite.name;
  }
  if (single !== undefined && telling.length === 1) return typeOfOne(single, graph);
  const heaviest = [...weighted, ...freeMatmuls].find(
    ({ type }) => !moving.has(type) && !arithmetic.has(type),
  );
  const chosen = heaviest ?? telling.at(-1) ?? operators.at(-1);
  return chosen === undefined ? 'Constant' : typeOfOne(chosen, graph);
}

function typeOfOne(operator: Operator, graph: Graph): string {
  const definition = definitionOf(operator);
  if (definition === undefined) return operator.type;
  if (operator.type === 'Clip' && isReLU6(operator, graph)) return 'ReLU6';
  const { layer, weightedLayer } = definition.pytorch;
  if (weightedLayer !== undefined && usesParameter(operator, graph)) return weightedLayer;
  if (!layer.includes('{n}')) return layer;
  // Filters have as many axes as images, and their rank is known more often.
  const axes = spatialRank(operator, graph, definition.inputs[1]?.name === 'W' ? 1 : 0);
  return layer.replace('{n}', `${Math.max(1, axes)}`);
}

/** Axes behind batch and channels of input `index`; 2, as in nearly every model, where the rank is not known. */
function spatialRank(operator: Operator, graph: Graph, index: number): number {
  const type = graph.values.get(operator.inputs[index] ?? '')?.type;
  return type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape.length - 2 : 2;
}

/** Whether a trained tensor goes in, directly or in another layout. */
function usesParameter(operator: Operator, graph: Graph): boolean {
  return operator.inputs.some((name) => {
    let value = graph.values.get(name);
    for (let steps = 0; value !== undefined && steps < 4; steps += 1) {
      if (isWeight(value.role)) return true;
      const producer = value.producer === undefined ? undefined : graph.operators[value.producer];
      if (producer === undefined || !layouts.has(producer.type)) return false;
      value = graph.values.get(producer.inputs[0] ?? '');
    }
    return false;
  });
}

function isReLU6(operator: Operator, graph: Graph): boolean {
  const bound = (index: number, name: string): unknown => {
    const attribute = operator.attributes.get(name);
    if (attribute?.kind === 'float' || attribute?.kind === 'int') return attribute.value;
    return graph.values.get(operator.inputs[index] ?? '')?.content?.elements[0];
  };
  return bound(1, 'min') === 0 && bound(2, 'max') === 6;
}

const layouts: ReadonlySet<string> = new Set([
  'Cast',
  'Identity',
  'Reshape',
  'Squeeze',
  'Transpose',
  'Unsqueeze',
]);

/** Operators that move elements and say little about what a layer is. */
const moving: ReadonlySet<string> = new Set([
  ...layouts,
  'Concat',
  'Constant',
  'ConstantOfShape',
  'Expand',
  'Flatten',
  'Pad',
  'Shape',
  'Slice',
  'Split',
]);

const arithmetic: ReadonlySet<string> = new Set(['Add', 'Div', 'Mul', 'Pow', 'Sqrt', 'Sub', 'Sum']);
