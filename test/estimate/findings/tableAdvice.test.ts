/** Advice on embedding tables: of which frameworks, from which share of the gradients on, and the step that it names. */

import { describe, expect, test } from 'vitest';
import { tableAdvice } from '../../../server/src/estimate/findings/tableAdvice.ts';
import { timesOf } from '../../../server/src/estimate/plan/plannedTimes.ts';
import type { StepPlan } from '../../../server/src/estimate/plan/stepPlan.ts';
import { recost } from '../../../server/src/estimate/recost.ts';
import { formatTime } from '../../../server/src/model/format.ts';
import type { FrameworkChoice, ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { seconds } from '../../../server/src/model/units.ts';
import { planOf } from '../../support/estimatedStep.ts';

/** Tables of so many elements beside a layer of so many. */
const spec = (tables: number, rows: number, beside: number): string => `
dims: { batch: 64 }
inputs: { x: "float32[batch, 64]", ids: "int64[batch, 4]" }
layers:
  - rest: Linear(${beside / 64}, bias=False) from x
${Array.from({ length: tables }, (_, index) => `  - t${index}: EmbeddingBag(${rows}, 64, mode='sum') from ids`).join('\n')}
  - all: cat(1) from rest, ${Array.from({ length: tables }, (_, index) => `t${index}`).join(', ')}
`;

const asked: ScenarioRequest = { cluster: 'dgx-a100', gpus: 8, optimizer: 'sgd', precision: 'fp32' };
const choice = (name: string, options: FrameworkChoice['options'] = {}): ScenarioRequest => ({
  framework: { name, options },
});
/** One table of 2²⁰ rows beside a layer of 2¹² elements. */
const large = spec(1, 2 ** 20, 2 ** 12);
const plan = (request: ScenarioRequest = {}, of = large): StepPlan => planOf({ ...asked, ...request }, of);

/** The step with another framework. */
const stepWith = (of: StepPlan, name: string, options: FrameworkChoice['options']): number =>
  timesOf(recost(of, { framework: { name, options } }) ?? expect.fail(name), 'middle').step;
const takes = (time: number): string => `the step takes ${formatTime(seconds(time))}`;
const [long, share] = [10, '1 embedding table makes 100 % of the gradients. '];

describe('advises', () => {
  test('DDP to shard tables, or Horovod with the rows alone, of which the first is a change of an option', () => {
    const own = plan();
    expect(tableAdvice(own, long)).toEqual({
      fix: `${share}Shard the tables over the GPUs (embeddings=table-wise): ${takes(stepWith(own, 'pytorch-ddp', { embeddings: 'table-wise' }))}; or send only the rows looked up (horovod with embeddings=sparse): ${takes(stepWith(own, 'horovod', { embeddings: 'sparse' }))}`,
      change: { kind: 'framework-option', name: 'embeddings', value: 'table-wise' },
    });
  });

  test.each(['horovod', 'mxnet'])('%s to send the rows, beside its other options', (name) => {
    const own = plan(choice(name, { 'launch-us': '9' }));
    expect(tableAdvice(own, long)).toEqual({
      fix: `${share}Send only the rows looked up (embeddings=sparse): ${takes(stepWith(own, name, { 'launch-us': '9', embeddings: 'sparse' }))}`,
      change: { kind: 'framework-option', name: 'embeddings', value: 'sparse' },
    });
  });

  test.each([
    ['that has no such option', 'pytorch-fsdp', {}],
    ['that sends rows already', 'horovod', { embeddings: 'sparse' }],
  ])('who uses a framework %s another one, which is no change of an option', (_, name, options) => {
    const own = plan(choice(name, options));
    expect(tableAdvice(own, long)).toEqual({
      fix: `${share}Shard the tables over the GPUs (pytorch-ddp with embeddings=table-wise): ${takes(stepWith(own, 'pytorch-ddp', { embeddings: 'table-wise' }))}`,
    });
  });

  test('from half of the gradients on, counted in bytes of all tables', () => {
    // Two tables of 2¹⁸ elements each beside 2¹⁹, and beside twice as many.
    const half = tableAdvice(plan({}, spec(2, 2 ** 12, 2 ** 19)), long);
    expect(half?.fix).toMatch(/^2 embedding tables make 50 % of the gradients\. Shard/);
    expect(tableAdvice(plan({}, spec(2, 2 ** 12, 2 ** 19 + 64)), long)).toBeUndefined();
  });

  test('what saves a tenth of the step, and no other', () => {
    const own = plan();
    const sharded = stepWith(own, 'pytorch-ddp', { embeddings: 'table-wise' });
    const rows = stepWith(own, 'horovod', { embeddings: 'sparse' });
    const [fast, slow] = [Math.min(sharded, rows), Math.max(sharded, rows)];
    expect(fast).toBeLessThan(slow);
    expect(tableAdvice(own, (slow / 0.9) * 1.001)?.fix).toContain('; or ');
    const one = tableAdvice(own, (slow / 0.9) * 0.999);
    expect(one?.fix).not.toContain('; or ');
    expect(one?.fix).toContain(takes(fast));
    expect(tableAdvice(own, (fast / 0.9) * 1.001)?.fix).toContain(takes(fast));
    expect(tableAdvice(own, (fast / 0.9) * 0.999)).toBeUndefined();
  });
});

test.each<[string, StepPlan]>([
  ['inference', plan({ mode: 'inference' })],
  ['one GPU', plan({ gpus: 1 })],
  ['a measured step', plan({ measuredStep: seconds(1) })],
  ['tables that are sharded', plan(choice('pytorch-ddp', { embeddings: 'table-wise' }))],
  ['a model without tables', planOf(asked)],
])('says nothing of %s', (_, of) => {
  expect(tableAdvice(of, long)).toBeUndefined();
});

test('two GPUs exchange gradients', () => {
  expect(tableAdvice(plan({ gpus: 2 }), long)).toBeDefined();
});
