/**
 * What patterns state of the calls that they stand for, against what PyTorch 2.13 keeps, casts and calls them (`calls.csv`, by
 * `scripts/measured/compositeCalls.py`), and from which operators each is found in an export of PyTorch.
 */

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import type { CompositePattern, Kept, OperatorOrigin } from '../../server/src/composites/composite.ts';
import { findComposites } from '../../server/src/composites/findComposites.ts';
import { launchedAs } from '../../server/src/composites/launchedAs.ts';
import { compositePatterns } from '../../server/src/composites/patterns.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { definitionOf } from '../../server/src/operators/registry.ts';

const [, ...lines] = readFileSync('test/composites/calls.csv', 'utf8').trim().split('\n');
const calls = lines.map((line) => {
  const [name = '', moduleClass = '', trained = '', kept = '', autocast = ''] = line.split(',');
  return { name, moduleClass, trained, kept, autocast };
});

function patternOf(name: string): CompositePattern {
  const pattern = compositePatterns.find((each) => each.name === name);
  if (pattern === undefined) throw new Error(`no pattern is called ${name}`);
  return pattern;
}

test('every pattern has a call in the table, but those that are no call of one kernel', () => {
  const called = new Set(calls.map(({ name }) => name));
  const others = compositePatterns.map(({ name }) => name).filter((name) => !called.has(name));
  // Attention keeps what its kernel does, cells of recurrent layers theirs; `torch._weight_norm` keeps norms that no argument is.
  expect(others).toEqual(['ScaledDotProductAttention', 'LSTMCell', 'GRUCell', 'WeightNorm']);
});

/** What is kept where every argument has a gradient that is in `trained`. */
const keptOf: Readonly<Record<Kept | 'gradients', (trained: string, inputs: string) => string>> = {
  gradients: (trained) => trained,
  inputs: (_, inputs) => inputs,
  input: (_, inputs) => inputs,
  result: () => 'result',
  both: (_, inputs) => `${inputs} result`,
  nothing: () => '',
  positions: () => '',
};

test.each(calls)('$name keeps what autograd keeps', ({ name, trained, kept }) => {
  const { keeps = 'gradients' } = patternOf(name);
  const inputs = kept.replace(/ ?result/, '');
  expect(keptOf[keeps](trained, inputs)).toBe(kept);
});

test('what reads several values of the graph keeps one by its role', () => {
  // The mean that a variance reads, and of a divergence the scores, stay with autograd nowhere (derivatives.yaml, `var`, `kl_div`).
  const byRole = compositePatterns.flatMap(({ name, keeps }) => (keeps === 'input' ? [name] : []));
  expect(byRole).toEqual(['KLDivLoss', 'Var']);
});

/** Composites that become the kernel of an operator, whose definition says what autocast does. */
const operatorOf: Readonly<Record<string, string>> = {
  GroupNorm: 'GroupNormalization',
  LayerNorm: 'LayerNormalization',
  RMSNorm: 'RMSNormalization',
};

test.each(calls.filter(({ autocast }) => autocast !== 'refused'))(
  'autocast gives $name in $autocast',
  ({ name, autocast }) => {
    const operator = definitionOf({ domain: '', type: operatorOf[name] ?? '' });
    const own = operator === undefined ? patternOf(name).autocast : operator.pytorch.autocast;
    expect(own).toBe(autocast === 'float32' ? 'fp32' : undefined);
  },
);

test('only the variance makes a tensor for its backward', () => {
  // PyTorch 2.13 torch/csrc/autograd/FunctionsManual.cpp, `var_backward`: grad * (self - self.mean(dim, true)).
  const makers = compositePatterns.flatMap(({ name, makesAgain }) => (makesAgain ? [name] : []));
  expect(makers).toEqual(['Var']);
});

const launched = (pattern: CompositePattern, origin: OperatorOrigin) =>
  launchedAs(pattern, { operators: [0, 1], roles: {}, launchedAs: 'assumed-one' }, () => origin);

test.each(calls.filter(({ moduleClass }) => moduleClass !== ''))(
  '$moduleClass is one kernel, and a class of a model by this name several',
  ({ name, moduleClass }) => {
    expect(launched(patternOf(name), { moduleClass })).toBe('one');
    expect(launched(patternOf(name), { moduleClass: `models.mine.${moduleClass.split('.').at(-1)}` })).toBe(
      'several',
    );
  },
);

test.each([
  // transformers 5.18 models/bloom/modeling_bloom.py: `BloomGelu` calls `GeLUFunction` while it trains, which keeps its input.
  ['GELU', 'transformers.models.bloom.modeling_bloom.BloomGelu', 'assumed-one'],
  // transformers 5.18 models/gpt2/modeling_gpt2.py, `NewGELUActivation`: written out.
  ['GELU', 'transformers.activations.NewGELUActivation', 'several'],
  // transformers 5.18 models/llama/modeling_llama.py, `LlamaRMSNorm`: written out.
  ['RMSNorm', 'transformers.models.llama.modeling_llama.LlamaRMSNorm', 'several'],
] as const)('%s of %s is launched as %s', (name, moduleClass, expected) => {
  expect(launched(patternOf(name), { moduleClass })).toBe(expected);
});

test.each([
  // PyTorch 2.13 torch/onnx/symbolic_opset9.py writes these losses and shrinkages out, before it records what was called.
  ['HuberLoss', 'assumed-one'],
  ['Hardshrink', 'assumed-one'],
  ['Softshrink', 'assumed-one'],
  ['Threshold', 'assumed-one'],
  ['SiLU', 'several'],
] as const)('%s of several recorded calls is launched as %s', (name, expected) => {
  const pattern = patternOf(name);
  const origins = ['sub', 'abs'].map((call) => ({ call: { name: call, function: `aten.${call}.default` } }));
  const match = { operators: [0, 1], roles: {}, launchedAs: 'assumed-one' } as const;
  expect(launchedAs(pattern, match, (index) => origins[index] ?? {})).toBe(expected);
});

test('one line of a layer spec that is written as operators is one kernel, of RMSNorm several', () => {
  // `RMSNorm(64, fused=False)` of the manual: as models of transformers write it.
  const ofLines = compositePatterns.flatMap(({ name, modules, ofOneLine = 'one' }) =>
    modules && ofOneLine !== 'one' ? [`${name} ${ofOneLine}`] : [],
  );
  expect(ofLines).toEqual(['RMSNorm several']);
});

const models: ReadonlyMap<string, Buffer> = new Map(
  gunzipSync(readFileSync('test/composites/functions.models.gz'))
    .toString('utf8')
    .split('\n')
    .map((line) => {
      const { name, exporter, model }: Record<'name' | 'exporter' | 'model', string> = JSON.parse(line);
      return [`${name},${exporter}`, Buffer.from(model, 'base64')];
    }),
);

test.each([
  ['MultiheadAttention,legacy', 'ScaledDotProductAttention', 'Softmax'],
  ['GroupNorm,legacy', 'GroupNorm', 'InstanceNormalization'],
  ['RMSNorm,default', 'RMSNorm', 'ReduceMean'],
  ['GLU,legacy', 'GLU', 'Sigmoid'],
  ['SiLU,default', 'SiLU', 'Sigmoid'],
  ['Mish,legacy', 'Mish', 'Tanh'],
  ['Softplus 2,legacy', 'Softplus', 'Softplus'],
  ['loss binary_cross_entropy,default', 'BinaryCrossEntropy', 'Log'],
  ['loss binary_cross_entropy_with_logits,legacy', 'BinaryCrossEntropy', 'Log'],
  ['LogSigmoid,legacy', 'LogSigmoid', 'Sigmoid'],
  ['F hard swish by hand,legacy', 'Hardswish', 'Clip'],
  ['Hardshrink,default', 'Hardshrink', 'LessOrEqual'],
  ['Hardshrink,legacy', 'Hardshrink', 'Or'],
  ['Softshrink,default', 'Softshrink', 'Sign'],
  ['Softshrink,legacy', 'Softshrink', 'Less'],
  ['Threshold,default', 'Threshold', 'LessOrEqual'],
  ['loss huber_loss,default', 'HuberLoss', 'Abs'],
  ['loss smooth_l1_loss,default', 'HuberLoss', 'Abs'],
  ['loss kl_div,legacy', 'KLDivLoss', 'Log'],
  ['F cosine_similarity,legacy', 'CosineSimilarity', 'Sqrt'],
  ['F lerp tensor,legacy', 'Lerp', 'Less'],
  ['F cdist,legacy', 'CDist', 'Sub'],
  ['loss mse_loss,legacy', 'MseLoss', 'Mul'],
  ['Dropout1d,default', 'Bernoulli', 'RandomUniformLike'],
  ['F roll,legacy', 'Roll', 'Concat'],
  ['F diagonal,legacy', 'Diagonal', 'EyeLike'],
  ['F var,legacy', 'Var', 'ReduceMean'],
  ['Linear weight_norm,legacy', 'WeightNorm', 'ReduceL2'],
  ['F rsqrt,legacy', 'Rsqrt', 'Sqrt'],
])('%s has one %s, found from its %s', (key, name, anchor) => {
  const { analysis } = openModel(byteSourceOfBuffer(models.get(key) ?? Buffer.alloc(0)), 'model.onnx');
  if (analysis === undefined) throw new Error(`${key} has no graph`);
  const { graph } = analysis;
  const origin = () => ({});
  const found = findComposites(graph, compositePatterns, origin);
  expect([...new Set(found.values())].map((composite) => composite.name)).toContain(name);
  const pattern = patternOf(name);
  const anchors = graph.operators.filter(({ type }) => type === anchor);
  const matches = anchors.flatMap((operator) => pattern.match(graph, operator) ?? []);
  expect(pattern.anchors).toContain(anchor);
  expect(matches.length).toBeGreaterThan(0);
});
