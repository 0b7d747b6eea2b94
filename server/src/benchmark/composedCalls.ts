/**
 * Operators of the graph that the prediction launches as one call of PyTorch, as that call: a linear layer with its bias,
 * attention, activations and normalizations that exporters or models wrote out.
 *
 * The runner has the operators beside the call. It computes both once, and runs the call where they agree.
 */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { Composite } from '../composites/composite.ts';
import { scalarOf } from '../composites/flow.ts';
import { biasedMatmul } from '../frameworks/pytorch/foldedBias.ts';
import { type FusedGroup, fusedGroups } from '../frameworks/pytorch/fusedGroups.ts';
import { optionValues } from '../frameworks/registry.ts';
import type { Graph, GraphAttribute, Operator } from '../model/graph.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { Scenario } from '../model/scenario.ts';

export interface ComposedCall {
  /** Indices of the operators that it stands for, ascending. */
  readonly operators: readonly number[];
  readonly type: string;
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly output: string;
  readonly attributes: Readonly<Record<string, number | string | readonly number[]>>;
}

/** Calls of PyTorch that no operator of ONNX is are the runner's own. */
const runnersOwn = 'layercost';
export const ownCalls: readonly string[] = [
  'Glu',
  'GroupNorm',
  'Hardshrink',
  'Linear',
  'LogSigmoid',
  'Rsqrt',
  'ScaledDotProductAttention',
  'Softplus',
  'Softshrink',
  'Threshold',
  'Var',
];

/** Calls of a step with this scenario; no operator is in two. */
export function composedCalls(training: TrainingGraph, { framework }: Scenario): readonly ComposedCall[] {
  const options = optionValues(framework);
  if (options.get('fused-calls') === 'false') return [];
  const attention = options.get('attention');
  const asked = attention === 'fused' ? true : attention === 'eager' ? false : undefined;
  const groups = new Set(fusedGroups(training, asked).values());
  const { graph } = training.analysis;
  const composed = [...groups].flatMap((group) => callOfGroup(training, group) ?? []);
  const taken = new Set(composed.flatMap(({ operators }) => operators));
  const linear: ComposedCall[] = [];
  // From behind, so that a bias comes before its product.
  for (const operator of graph.operators.toReversed()) {
    const call = linearCall(training, operator);
    if (call === undefined || call.operators.some((index) => taken.has(index))) continue;
    for (const index of call.operators) taken.add(index);
    linear.push(call);
  }
  return [...composed, ...linear];
}

function callOfGroup(training: TrainingGraph, { composite }: FusedGroup): ComposedCall | undefined {
  const [output, ...others] = composite?.outputs ?? [];
  if (composite === undefined || output === undefined || others.length > 0) return undefined;
  const call = callOfComposite(training, composite);
  return call === undefined ? undefined : { operators: composite.operators, output, ...call };
}

type CallOfComposite = Pick<ComposedCall, 'type' | 'domain' | 'inputs' | 'attributes'>;

function callOfComposite(training: TrainingGraph, composite: Composite): CallOfComposite | undefined {
  const { graph } = training.analysis;
  const input = composite.roles.input ?? '';
  const members = composite.operators.flatMap((index) => graph.operators[index] ?? []);
  const call = (type: string, attributes: ComposedCall['attributes'] = {}, domain = ''): CallOfComposite => ({
    type,
    domain,
    inputs: [input],
    attributes,
  });
  switch (composite.kind) {
    case 'gelu':
      return call('Gelu', {
        approximate: members.some(({ type }) => type === 'Tanh') ? 'tanh' : 'none',
      });
    case 'silu':
      return call('Swish');
    case 'mish':
      return call('Mish');
    case 'hardswish':
      return call('HardSwish');
    case 'softplus': {
      const slope = members.find(({ type }) => type === 'Mul')?.inputs.map((name) => scalarOf(graph, name));
      return call('Softplus', { beta: slope?.find((each) => each !== undefined) ?? 1 }, runnersOwn);
    }
    case 'threshold': {
      const choice = members.find(({ type }) => type === 'Where');
      const value = scalarOf(graph, choice?.inputs[1]);
      const limit = limitOf(graph, members);
      return value === undefined || limit === undefined
        ? undefined
        : call('Threshold', { threshold: limit, value }, runnersOwn);
    }
    case 'hardshrink':
    case 'softshrink': {
      const limit = limitOf(graph, members);
      const type = composite.kind === 'hardshrink' ? 'Hardshrink' : 'Softshrink';
      return limit === undefined ? undefined : call(type, { lambd: limit }, runnersOwn);
    }
    case 'rsqrt':
      return call('Rsqrt', {}, runnersOwn);
    case 'variance': {
      const axes = axesOfMean(graph, members);
      const keeps = members.findLast(({ type }) => type === 'ReduceMean')?.attributes.get('keepdims');
      if (axes === undefined) return undefined;
      return call(
        'Var',
        {
          axes,
          keepdims: keeps?.kind === 'int' ? keeps.value : 1,
          correction: members.some(({ type }) => type === 'Div') ? 1 : 0,
        },
        runnersOwn,
      );
    }
    case 'recorded-call':
    case 'taken-apart':
    case 'assumed-maximum':
    case 'weight-norm':
    case 'cosine-similarity':
    case 'recurrent-cell':
      // The runner has no rule of it: its operators are run one by one.
      return undefined;
    case 'log-sigmoid':
      return call('LogSigmoid', {}, runnersOwn);
    case 'attention':
      return attentionCall(training, composite, members);
    case 'glu': {
      const axis = members.find(({ type }) => type === 'Split')?.attributes.get('axis');
      return call('Glu', { axis: axis?.kind === 'int' ? axis.value : 0 }, runnersOwn);
    }
    case 'layer-norm':
      return normalizationCall(training, composite, members, 'LayerNormalization');
    case 'rms-norm':
      return normalizationCall(training, composite, members, 'RMSNormalization');
    case 'group-norm': {
      const { scale = '', bias = '' } = composite.roles;
      const epsilon = members[0]?.attributes.get('epsilon');
      const attributes = epsilon?.kind === 'float' ? { epsilon: epsilon.value } : {};
      return { ...call('GroupNorm', attributes, runnersOwn), inputs: [input, scale, bias] };
    }
  }
}

/** What the elements are compared with. */
const limitOf = (graph: Graph, members: readonly Operator[]): number | undefined =>
  scalarOf(graph, members.find(({ type }) => type === 'LessOrEqual' || type === 'Greater')?.inputs[1]);

/** Of the first mean among them; `undefined` where they are not known numbers. */
function axesOfMean(graph: Graph, members: readonly Operator[]): readonly number[] | undefined {
  const mean = members.find((member) => member.type === 'ReduceMean');
  const attribute = mean?.attributes.get('axes');
  if (attribute?.kind === 'ints') return attribute.value;
  const elements = graph.values.get(mean?.inputs[1] ?? '')?.content?.elements;
  const numbers = elements?.filter((axis) => typeof axis === 'number');
  return numbers?.length === elements?.length ? numbers : undefined;
}

/** Over as many of the last axes as its mean is; what is added to the variance is the epsilon. */
function normalizationCall(
  training: TrainingGraph,
  { roles: { input = '', scale = '', bias } }: Composite,
  members: readonly Operator[],
  type: string,
): CallOfComposite | undefined {
  const { graph } = training.analysis;
  const axes = axesOfMean(graph, members);
  const epsilon = members
    .filter((member) => member.type === 'Add')
    .flatMap(({ inputs }) => inputs.flatMap((name) => scalarOf(graph, name) ?? []))[0];
  if (axes === undefined || epsilon === undefined) return undefined;
  return {
    type,
    domain: '',
    inputs: [input, scale, ...(bias === undefined ? [] : [bias])],
    attributes: { axis: -axes.length, epsilon },
  };
}

/** `torch.nn.functional.scaled_dot_product_attention`, where keys lie as a product of scores may take them. */
function attentionCall(
  training: TrainingGraph,
  { roles: { query = '', key = '', value = '', mask } }: Composite,
  members: readonly Operator[],
): CallOfComposite | undefined {
  const { graph } = training.analysis;
  const [q, k, v] = [query, key, value].map((name) => training.tensors.get(name)?.dimensions);
  if (q === undefined || k === undefined || v === undefined || q.length !== v.length) return undefined;
  const turned = members.find(({ type, inputs }) => type === 'Transpose' && inputs[0] === key);
  const layout = keyLayout(q, k, v, turned?.attributes.get('perm'));
  if (layout === undefined) return undefined;
  const isCausal = mask === undefined && members.some(({ type }) => type === 'Trilu');
  const dropout = members.find(({ type }) => type === 'Dropout');
  const drop = dropout === undefined ? undefined : scalarOf(graph, dropout.inputs[1] ?? '');
  return {
    type: 'ScaledDotProductAttention',
    domain: runnersOwn,
    inputs: [query, key, value, ...(mask === undefined ? [] : [mask])],
    attributes: {
      scale: scaleOf(graph, members),
      key: layout,
      ...(isCausal ? { is_causal: 1 } : {}),
      ...(drop === undefined ? {} : { dropout_p: drop }),
    },
  };
}

/**
 * How keys lie beside queries [batch, heads, tokens, size]: like them; `by-tokens`, [batch, tokens, heads, size], before the one
 * transpose (`turned`) that a product needs; `transposed` already; or `folded`, [batch · heads, tokens, size].
 */
function keyLayout(
  q: readonly number[],
  k: readonly number[],
  v: readonly number[],
  turned: GraphAttribute | undefined,
): 'like-queries' | 'by-tokens' | 'transposed' | 'folded' | undefined {
  const [size, tokens] = [q.at(-1), v.at(-2)];
  const isTurned = turned?.kind === 'ints' && isSameContent(turned.value, [0, 2, 3, 1]);
  if (k.length === 3 && q.length === 4) {
    return isSameContent(k, [(v[0] ?? 0) * (v[1] ?? 0), tokens, size]) ? 'folded' : undefined;
  }
  if (k.length !== q.length) return undefined;
  if (isTurned) return k[3] === size && k[1] === tokens ? 'by-tokens' : undefined;
  if (k.at(-1) === size && k.at(-2) === tokens) return 'like-queries';
  return turned === undefined && k.at(-2) === size && k.at(-1) === tokens ? 'transposed' : undefined;
}

/** Numbers that queries, keys and scores are multiplied and divided by before the softmax. */
function scaleOf(graph: Graph, members: readonly Operator[]): number {
  const softmax = members.findIndex(({ type }) => type === 'Softmax');
  return members
    .slice(0, softmax)
    .filter(({ type }) => type === 'Mul' || type === 'Div')
    .reduce((scale, { type, inputs }) => {
      const factor = inputs.map((name) => scalarOf(graph, name)).find((each) => each !== undefined);
      return factor === undefined ? scale : type === 'Div' ? scale / factor : scale * factor;
    }, 1);
}

/** A product with a weight that is stored as PyTorch stores it, or whose bias was exported as an addition. */
function linearCall(training: TrainingGraph, operator: Operator): ComposedCall | undefined {
  const { graph } = training.analysis;
  const product = biasedMatmul(training, operator);
  const matmul =
    product === undefined ? operator : graph.operators[graph.values.get(product)?.producer ?? -1];
  const [output = ''] = operator.outputs;
  if (matmul?.type !== 'MatMul') return undefined;
  const [input = '', second = ''] = matmul.inputs;
  if (training.tensors.get(second)?.dimensions.length !== 2) return undefined;
  const transpose = graph.operators[graph.values.get(second)?.producer ?? -1];
  const isTransposed =
    transpose?.type === 'Transpose' &&
    graph.values.get(second)?.consumers.length === 1 &&
    graph.values.get(transpose.inputs[0] ?? '')?.producer === undefined;
  if (!isTransposed && product === undefined) return undefined;
  const bias = operator.inputs.find((name) => name !== product) ?? '';
  const weight = isTransposed ? (transpose.inputs[0] ?? '') : second;
  const indices = [isTransposed ? transpose.index : -1, matmul.index, operator.index];
  return {
    operators: [...new Set(indices)].filter((index) => index >= 0).sort((a, b) => a - b),
    type: 'Linear',
    domain: runnersOwn,
    inputs: [input, weight, ...(product === undefined ? [] : [bias])],
    output,
    attributes: { transposed: isTransposed ? 1 : 0 },
  };
}
