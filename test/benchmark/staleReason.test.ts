/** Which edits and scenarios make a measured time one of something else. */

import { describe, expect, it } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { type Computation, computationOf } from '../../server/src/benchmark/computation.ts';
import { planBenchmark } from '../../server/src/benchmark/planBenchmark.ts';
import { staleReason } from '../../server/src/benchmark/staleReason.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

const spec = `name: small
dims: { batch: 4, seq: 16 }
inputs:
  tokens: int64[batch, seq]
layers:
  - embed: Embedding(100, 64)
  - norm: LayerNorm(64)
  - fc: Linear(64, 128)
  - act: GELU()
`;
const here = { name: 'box', platform: 'linux-x64', processor: 'EPYC', cores: 64 };

function computation(text: string, request: ScenarioRequest = {}): Computation {
  const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(text)), 'small.layers.yaml');
  const { training, scenario, issues } = estimateModel(opened, [request, opened.scenario]);
  if (training === undefined || scenario === undefined)
    throw new Error(issues.map(({ message }) => message).join('; '));
  return computationOf(planBenchmark(training, scenario), scenario);
}

const reason = (text: string, request?: ScenarioRequest): string | undefined =>
  staleReason({ machine: here, computation: computation(spec) }, computation(text, request), here);

describe('a result stands beside the model', () => {
  it.each([
    ['as it was', spec],
    ['with another comment', spec.replace('layers:', '# wider is slower\nlayers:')],
    [
      'with other spaces',
      spec.replace('Linear(64, 128)', 'Linear( 64,128 )').replace('\nlayers', '\n\n\nlayers'),
    ],
    ['with a size as a product', spec.replace('128', '2*64')],
    ['with a layer of another name', spec.replace('- fc:', '- projection:')],
    ['of another name', spec.replace('name: small', 'name: tiny')],
  ])('%s', (_, text) => {
    expect(reason(text)).toBeUndefined();
  });

  it.each<ScenarioRequest>([
    { cluster: 'dgx-a100', precision: 'bf16' },
    { cluster: 'dgx-a100', gpus: 8, precision: 'bf16' },
    { framework: { name: 'pytorch-ddp', options: { 'bucket-mb': '50' } } },
    { checkpoint: 'none' },
  ])('in the scenario %j', (request) => {
    expect(reason(spec, request)).toBeUndefined();
  });
});

describe('a result is stale', () => {
  it.each([
    ['of another width', spec.replace('64, 128', '64, 256')],
    ['of another activation', spec.replace('GELU()', 'ReLU()')],
    ['of another approximation', spec.replace('GELU()', 'GELU("tanh")')],
    ['of another order', spec.replace('  - act: GELU()\n', '').replace('  - fc', '  - act: GELU()\n  - fc')],
    ['of more layers', `${spec}  - drop: Dropout(0.1)\n`],
  ])('for a model %s', (_, text) => {
    expect(reason(text)).toBe('the model computes something else now');
  });

  it.each<[ScenarioRequest, string]>([
    [{ batch: 8 }, 'measured with batch 4, not 8'],
    [{ dimensions: { seq: 32 } }, 'measured with seq 16, not 32'],
    [{ precision: 'fp32' }, 'measured with precision bf16, not fp32'],
    [{ optimizer: 'sgd', batch: 1 }, 'measured with batch 4, not 1, measured with optimizer adamw, not sgd'],
    [
      { mode: 'inference' },
      'measured with mode training, not inference, measured with weights fp32, not half',
    ],
    [{ accumulate: 2 }, 'measured with accumulate 1, not 2'],
    [
      { framework: { name: 'pytorch-ddp', options: { compile: 'true' } } },
      'measured with compile none, not default',
    ],
    [
      { framework: { name: 'pytorch-ddp', options: { 'fused-calls': 'false' } } },
      'the model computes something else now',
    ],
    [{ freeze: ['fc'] }, 'the model computes something else now'],
    [{ lora: { rank: 4, layers: ['fc'] } }, 'the model computes something else now'],
  ])('in the scenario %j', (request, text) => {
    expect(reason(spec, request)).toBe(text);
  });

  it.each([
    [{ name: 'laptop' }, 'measured on box, not on laptop'],
    [{ processor: 'Xeon' }, 'measured on another machine of this name: EPYC'],
  ])('on the machine %j', (changes, text) => {
    const now = computation(spec);
    expect(staleReason({ machine: here, computation: now }, now, { ...here, ...changes })).toBe(text);
  });
});
