/** GELU by the error function, by tanh, and `x · sigmoid(1.702 x)`. */

import type { Graph, Operator } from '../model/graph.ts';
import { onlyWith, productOf, sumOf } from './algebra.ts';
import type { CompositeMatch, CompositePattern, LaunchedAs } from './composite.ts';
import { isNear, producerOf, resultsBelow, scalarOf, withCasts } from './flow.ts';

/** x · Φ(x), and its approximations by tanh and by a sigmoid: Hendrycks & Gimpel, arXiv 1606.08415, §2. */
export const gelu: CompositePattern = {
  kind: 'gelu',
  name: 'GELU',
  anchors: ['Erf', 'Tanh', 'Sigmoid'],
  modules: ['GELU'],
  // transformers 5 models/bloom/modeling_bloom.py, `GeLUFunction`.
  ownFunctions: ['BloomGelu'],
  match: (graph, anchor) => {
    const gate = gateOf(graph, anchor);
    if (gate === undefined) return undefined;
    const { input } = gate;
    for (const result of resultsBelow(graph, anchor)) {
      const product = productOf(graph, result);
      if (product.powers.size !== 2 || product.powers.get(input) !== 1) continue;
      const factor = [...product.powers].find(([name, power]) => name !== input && power === 1)?.[0] ?? '';
      const operators = [...gate.operators, ...product.operators];
      if (anchor.type === 'Sigmoid') {
        if (factor !== anchor.outputs[0] || !isNear(product.coefficient, 1)) continue;
        return matched(graph, input, operators, 'several');
      }
      const sum = sumOf(graph, factor);
      const isGate = sum.weights.size === 1 && sum.weights.get(anchor.outputs[0] ?? '') === sum.constant;
      if (!isGate || !isNear(product.coefficient * sum.constant, 0.5)) continue;
      return matched(graph, input, [...operators, ...sum.operators], launchedAs(graph, gate, result));
    }
    return undefined;
  },
};

interface Gate {
  readonly input: string;
  readonly operators: readonly number[];
  /** A cube written as a power. */
  readonly hasPower: boolean;
  /** The input stands before the sum: `√(2/π) x (1 + 0.044715 x²)`. */
  readonly isOuter: boolean;
}

/** What the gate is computed from, where the anchor's input is `x / √2`, `√(2/π) (x + 0.044715 x³)` or `1.702 x`. */
function gateOf(graph: Graph, { index, type, inputs: [argument = ''] }: Operator): Gate | undefined {
  const { coefficient, powers, operators } = productOf(graph, argument);
  if (type !== 'Tanh') {
    const input = powers.size === 1 ? onlyWith(powers, 1) : undefined;
    const expected = type === 'Erf' ? Math.SQRT1_2 : 1.702;
    if (input === undefined || !isNear(coefficient, expected)) return undefined;
    return { input, operators: [index, ...operators], hasPower: false, isOuter: false };
  }
  if (!isNear(coefficient, Math.sqrt(2 / Math.PI))) return undefined;
  // √(2/π) (x + 0.044715 x³), or √(2/π) x (1 + 0.044715 x²).
  for (const factor of powers.keys()) {
    const sum = sumOf(graph, factor);
    const terms = [...sum.weights.keys()];
    for (const term of terms) {
      const cube = productOf(graph, term);
      const input = cube.powers.size === 1 ? [...cube.powers.keys()][0] : undefined;
      if (input === undefined || !isNear(cube.coefficient, 0.044715)) continue;
      const power = cube.powers.get(input);
      const isSum = powers.size === 1 && terms.length === 2 && sum.weights.get(input) === 1 && power === 3;
      const isOuter = powers.size === 2 && powers.get(input) === 1 && isNear(sum.constant, 1) && power === 2;
      if (!isSum && !(isOuter && terms.length === 1)) continue;
      const members = [index, ...operators, ...sum.operators, ...cube.operators];
      const hasPower = cube.operators.some((each) => isPower(graph, each));
      return { input, operators: members, hasPower, isOuter };
    }
  }
  return undefined;
}

const isPower = (graph: Graph, index: number): boolean => graph.operators[index]?.type === 'Pow';

/**
 * `torch.onnx` writes `F.gelu` with one half as its last factor, or as the factor of the sum, and the cube as products; below
 * operator set 20, where `Gelu` begins (torch/onnx/_internal/torchscript_exporter/symbolic_opset9.py, `gelu`). The form with the input before the sum is that of functions
 * whose backward is written by hand and keeps the input alone: Megatron-LM (megatron/core/fusions/fused_bias_gelu.py) and BLOOM.
 */
function launchedAs(graph: Graph, { hasPower, isOuter }: Gate, result: string): LaunchedAs {
  if (isOuter && !hasPower) return 'assumed-one';
  if (hasPower || (graph.operatorSets.get('') ?? 0) >= 20) return 'several';
  const last = producerOf(graph, result);
  return last?.inputs.some((name) => isNear(scalarOf(graph, name), 0.5)) ? 'assumed-one' : 'several';
}

const matched = (
  graph: Graph,
  input: string,
  operators: readonly number[],
  launched: LaunchedAs,
): CompositeMatch => ({
  operators: withCasts(graph, operators),
  roles: { input },
  launchedAs: launched,
});
