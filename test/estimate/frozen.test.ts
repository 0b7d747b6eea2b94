/** Models of which a part is trained, against PyTorch; `exportFrozen.py` makes the files and the table. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openLayerSpec, openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { specOfConfig } from '../../server/src/lowering/hugging-face/specOfConfig.ts';

const folder = 'test/estimate/frozen';

interface Row {
  readonly model: string;
  readonly freeze: readonly string[];
  /** That PyTorch trains. */
  readonly parameters: number;
  /** Bytes that autograd keeps. */
  readonly saved: number;
}

const table: readonly Row[] = JSON.parse(readFileSync(`${folder}/frozen.json`, 'utf8'));

function estimate(model: string, freeze: readonly string[]): ModelEstimate {
  const opened = openModel(byteSourceOfBuffer(readFileSync(`${folder}/${model}.onnx`)), `${model}.onnx`);
  return estimateModel(opened, [
    {
      cluster: 'dgx-a100',
      precision: 'fp32',
      optimizer: 'adam',
      // What was measured had none.
      loss: 'none',
      framework: { name: 'pytorch-ddp', options: {} },
      ...(freeze.length === 0 ? {} : { freeze }),
    },
  ]);
}

describe.each(table)('$model, frozen $freeze', ({ model, freeze, parameters, saved }) => {
  const { cost, training, issues } = estimate(model, freeze);

  test('trains as many parameters as PyTorch', () => {
    expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(training?.analysis.parameters.reduce((total, { elements }) => total + elements, 0)).toBe(
      parameters,
    );
  });

  test('has gradients, messages and optimizer state of these alone', () => {
    expect(cost?.totals.memory.gradients).toBe(4 * parameters);
    expect(cost?.totals.memory.optimizerState).toBe(8 * parameters);
    expect(cost?.messages?.reduce((total, { bytes }) => total + bytes, 0)).toBe(4 * parameters);
  });

  test('keeps what autograd keeps, within 3 %', () => {
    const kept = (cost?.totals.memory.activations ?? 0) / saved;
    expect(kept).toBeGreaterThan(0.97);
    expect(kept).toBeLessThan(1.03);
  });
});

test('proposes to train the adapters alone, where there are some', () => {
  const changes = (model: string, freeze: readonly string[] = []) =>
    estimate(model, freeze).cost?.findings.flatMap(({ change }) =>
      change?.kind === 'freeze' ? [change.patterns] : [],
    );
  expect(changes('blocks')).toEqual([['*', '!*lora*']]);
  expect(changes('blocks', ['*', '!*lora*'])).toEqual([]);
  expect(changes('convolutions')).toEqual([]);
});

test.each([['adapter_up', '*', '!*adapter_up*'], ['prefix_encoder', '*', '!*prefix_encoder*'], ['upper']])(
  'parts that are called %s',
  (name, ...patterns) => {
    const spec = `inputs: { x: float32[8, 256] }\nlayers:\n  - first: Linear(512)\n  - ${name}: Linear(16)\n  - last: Linear(256)\n`;
    const { cost } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [{ cluster: 'dgx-a100', gpus: 1 }]);
    const changes = cost?.findings.flatMap(({ change }) =>
      change?.kind === 'freeze' ? [change.patterns] : [],
    );
    expect(changes).toEqual(patterns.length === 0 ? [] : [patterns]);
  },
);

test('costs no backward where nothing is trained, and says so', () => {
  const { cost, issues } = estimate('convolutions', ['*']);
  expect(cost?.totals.flops.backward).toBe(0);
  expect(cost?.messages ?? []).toEqual([]);
  const warnings = issues.filter(({ severity }) => severity === 'warning').map(({ message }) => message);
  expect(warnings).toContainEqual(expect.stringMatching(/^`freeze` leaves no parameter to train \(\*\)/));
});

test.each([
  ['conv3', 'No parameter or module matches `conv3`; did you mean `conv'],
  ['!bn3.weight', 'No parameter or module matches `!bn3.weight`; did you mean `bn'],
  ['encoder.*', 'No parameter or module matches `encoder.*`;'],
])('%s matches nothing', (pattern, message) => {
  const { issues, cost } = estimate('convolutions', ['*', pattern]);
  expect(issues.map((issue) => issue.message).join()).toContain(message);
  expect(cost).toBeUndefined();
});

test('freezes nothing in inference, where a decode step keeps its cache', () => {
  const config = { model_type: 'llama', hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4 };
  const sizes = { intermediate_size: 128, num_key_value_heads: 2, vocab_size: 256 };
  const text = Buffer.from(JSON.stringify({ ...config, ...sizes }));
  const opened = openModel(byteSourceOfBuffer(text), 'config.json', { specOfConfig });
  const decoded = (freeze?: readonly string[]) =>
    estimateModel(opened, [
      { cluster: 'dgx-a100', mode: 'inference', past: 1000, ...(freeze === undefined ? {} : { freeze }) },
    ]);
  const whole = decoded().cost?.totals;
  // Keys and values of two layers with two heads of 16 each.
  expect(whole?.memory.peak).toBeGreaterThan(2 * 2 * 1000 * 2 * 16 * 2);
  expect(decoded(['*']).cost?.totals).toEqual(whole);
  expect(decoded(['*']).issues.filter(({ scenarioKey }) => scenarioKey === 'freeze')).toEqual([]);
  expect(decoded(['decoder']).issues.map(({ scenarioKey }) => scenarioKey)).toContain('freeze');
});
