/** Operators that form one named operation, as the layer that launches it. */

import type { Composite } from '../../composites/composite.ts';
import { groupNorm } from './callOfGroupNorm.ts';
import type { GraphFacts } from './graphFacts.ts';
import { type SpecCall, tensor } from './specCall.ts';

/** `undefined` where it is launched operator by operator, or more than the layer says it. */
export function callOfComposite(composite: Composite, facts: GraphFacts): SpecCall | undefined {
  const { launchedAs, operators, outputs, inputs, kind } = composite;
  const [output] = outputs;
  if (outputs.length !== 1 || output === undefined) return undefined;
  const made = { operators, outputs: [output], settings: [] };
  const activation = activations[kind];
  if (activation !== undefined && launchedAs !== 'several') {
    const computed = inputs.filter((name) => facts.value(name)?.content === undefined);
    const [input] = computed;
    if (computed.length !== 1 || input === undefined) return undefined;
    return { ...made, callee: activation, kind: 'module', inputs: [tensor(input)] };
  }
  if (kind === 'attention' && launchedAs !== 'several') return attention(composite, facts);
  if (kind === 'group-norm' && launchedAs !== 'several') return groupNorm(composite, facts);
  return undefined;
}

const activations: Readonly<Partial<Record<Composite['kind'], string>>> = {
  gelu: 'GELU',
  silu: 'SiLU',
  mish: 'Mish',
  hardswish: 'Hardswish',
};

/** Where heads and sizes lie as PyTorch's function takes them. */
function attention(composite: Composite, facts: GraphFacts): SpecCall | undefined {
  const { query, key, value, mask } = composite.roles;
  const [output = ''] = composite.outputs;
  const shapes = [query, key, value, output].map((name) => facts.numbersOf(name));
  if (shapes.some((shape) => shape?.length !== 4)) return undefined;
  const [q = [], k = [], v = [], o = []] = shapes.map((shape) => shape ?? []);
  const fits =
    q[3] === k[3] &&
    k[2] === v[2] &&
    k[1] === v[1] &&
    o[1] === q[1] &&
    o[2] === q[2] &&
    o[3] === v[3] &&
    q[0] === k[0];
  const [heads = 1, groups = 1] = [q[1], k[1]];
  if (!fits || heads % groups !== 0) return undefined;
  const causal = composite.operators.some((index) => facts.graph.operators[index]?.type === 'Trilu');
  return {
    callee: 'scaled_dot_product_attention',
    kind: 'function',
    inputs: [query, key, value, mask].flatMap((name) => (name === undefined ? [] : [tensor(name)])),
    settings: [
      ...(causal && mask === undefined ? ['is_causal=True'] : []),
      ...(heads === groups ? [] : ['enable_gqa=True']),
    ],
    outputs: [output],
    operators: composite.operators,
  };
}
