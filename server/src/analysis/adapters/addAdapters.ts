/**
 * Low-rank adapters beside the linear layers of a model whose file has none: y = W·x + (α/r)·B·A·x, with A of r rows.
 *
 * Hu et al., LoRA, arXiv:2106.09685, eq. 3: W is frozen, A and B are trained. It runs as torchtune writes it (torchtune 0.6,
 * modules/peft/lora.py, `LoRALinear.forward`): what goes in passes dropout, two products and a product with a number, and is added to what
 * the layer gives. peft casts what goes in to the type of A besides, where that differs.
 */

import { type Graph, isKnownShape, type Operator, type Value, type ValueType } from '../../model/graph.ts';
import type { LowRankAdapters } from '../../model/scenario.ts';
import type { ModelAnalysis, Parameter } from '../modelAnalysis.ts';
import { isInside, modulesAround } from '../parameterNames.ts';
import { type Insertion, insertOperators } from './insertOperators.ts';
import { type LinearLayer, linearLayers } from './linearLayers.ts';

export interface AdaptedAnalysis {
  readonly analysis: ModelAnalysis;
  /** How many linear layers have adapters. */
  readonly adapted: number;
  /** Patterns that no linear layer matches. */
  readonly unmatched: readonly string[];
  /** Names that patterns are matched with. */
  readonly names: readonly string[];
}

/**
 * The analysis with adapters. Left out, `layers` are all linear layers but those whose result passes no weight on its way out, which
 * give the model's scores (peft, `target_modules="all-linear"`); a pattern names a layer by its path or the end of that, as `q_proj`.
 */
export function addAdapters(
  analysis: ModelAnalysis,
  { rank, layers, dropout }: LowRankAdapters,
): AdaptedAnalysis {
  const linear = linearLayers(analysis);
  const matched = new Set<string>();
  const chosen = linear.filter(({ names, isHead }) => {
    if (layers === undefined) return !isHead;
    const found = layers.filter((pattern) =>
      names.some((name) => isInside(pattern, name) || isInside(`*.${pattern}`, name)),
    );
    for (const pattern of found) matched.add(pattern);
    return found.length > 0;
  });
  const parameters = new Map<string, Omit<Parameter, 'operators'>>();
  const insertions = chosen.map((layer) => adapterOf(analysis.graph, layer, { rank, dropout }, parameters));
  return {
    analysis:
      insertions.length === 0 ? analysis : insertOperators(analysis, insertions, [...parameters.values()]),
    adapted: insertions.length,
    unmatched: (layers ?? []).filter((pattern) => !matched.has(pattern)),
    names: [
      ...new Set(
        linear.flatMap(({ names }) =>
          names.flatMap((name) => modulesAround(name).flatMap((path) => [path, endOf(path)])),
        ),
      ),
    ],
  };
}

/** `q_proj` of `layers.0.q_proj`. */
const endOf = (path: string): string => path.split('.').at(-1) ?? path;

/** What runs beside one layer; `parameters` has A and B of each weight, which several layers may share. */
function adapterOf(
  graph: Graph,
  { product, last, result }: LinearLayer,
  { rank, dropout }: { readonly rank: number; readonly dropout: number | undefined },
  parameters: Map<string, Omit<Parameter, 'operators'>>,
): Insertion {
  const { inputs, outputs, weight } = product;
  const own = `${product.output}: adapter`;
  const module = weight.replace(/\.weight$/, '');
  const elementType = weightType(graph.values.get(weight));
  const matrices = [
    { name: `${module}.lora_A.weight`, shape: [inputs, rank] },
    { name: `${module}.lora_B.weight`, shape: [rank, outputs] },
  ] as const;
  for (const {
    name,
    shape: [rows, columns],
  } of matrices)
    parameters.set(name, { name, elements: rows * columns, elementType });
  const [down, up] = matrices;
  const input = graph.values.get(product.input)?.type;
  const given = graph.values.get(result)?.type;
  const values: Insertion['values'][number][] = matrices.map(({ name, shape }) => ({
    name,
    role: 'parameter',
    type: { kind: 'tensor', elementType, shape: [...shape] },
  }));
  const operators: Omit<Operator, 'index'>[] = [];
  const emit = (
    type: string,
    operands: readonly string[],
    name: string,
    of: ValueType | undefined,
  ): string => {
    operators.push({
      source: last.source,
      name: `${own} ${name}`,
      type,
      domain: '',
      inputs: operands,
      outputs: [`${own} ${name}`],
      attributes: new Map(),
      scope: last.scope,
      opset: operatorSet,
    });
    values.push({ name: `${own} ${name}`, role: 'activation', type: of ?? unknownType });
    return `${own} ${name}`;
  };
  const constant = (name: string, type: 'float32' | 'bool', value: number): string => {
    values.push({
      name: `${own} ${name}`,
      role: 'constant',
      type: { kind: 'tensor', elementType: type, shape: [] },
      content: { shape: [], elements: [value] },
    });
    return `${own} ${name}`;
  };
  const dropped =
    dropout === undefined
      ? product.input
      : emit(
          'Dropout',
          [product.input, constant('rate', 'float32', dropout), constant('training', 'bool', 1)],
          'dropout',
          input,
        );
  const narrow = emit('MatMul', [dropped, down.name], 'lora_A', withLast(given, rank));
  const wide = emit('MatMul', [narrow, up.name], 'lora_B', given);
  const scaled = emit('Mul', [wide, constant('scale', 'float32', scale)], 'scaled', given);
  const replacement = emit('Add', [result, scaled], 'sum', given);
  return { behind: last.index, operators, values, result, replacement };
}

const weightType = (value: Value | undefined): Parameter['elementType'] =>
  value?.type.kind === 'tensor' ? value.type.elementType : 'float32';

/** The same tensor with so many columns. */
const withLast = (type: ValueType | undefined, columns: number): ValueType | undefined =>
  type?.kind === 'tensor' && isKnownShape(type.shape)
    ? { ...type, shape: [...type.shape.slice(0, -1), columns] }
    : undefined;

const unknownType: ValueType = {
  kind: 'unknown',
  reason: 'the size of what the linear layer gives is not known',
};

/** α/r, whichever it is. */
const scale = 2;

/** That of the definitions of what is added. */
const operatorSet = 13;
