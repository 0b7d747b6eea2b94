/** Products of experts that autocast leaves in fp32: which, what they take of all kernels, and what half weights save. */

import { describe, expect, test } from 'vitest';
import type { EstimatedStep } from '../../../server/src/estimate/findings/estimatedStep.ts';
import { uncastProducts } from '../../../server/src/estimate/findings/uncastProducts.ts';
import { columnsBy } from '../../../server/src/estimate/plan/operatorTimes.ts';
import { timesOf } from '../../../server/src/estimate/plan/plannedTimes.ts';
import type { StepPlan } from '../../../server/src/estimate/plan/stepPlan.ts';
import { recost } from '../../../server/src/estimate/recost.ts';
import { formatTime } from '../../../server/src/model/format.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { seconds } from '../../../server/src/model/units.ts';
import { lasting, stepOf } from '../../support/estimatedStep.ts';

const spec = (experts: string): string => `
dims: { batch: 1, seq: 256, d: 512 }
inputs: { x: "float32[batch, seq, d]" }
layers:
  - before: Linear(512)
${experts}
  - after: Linear(512)
`;
const mixture = (name: string, mark = ''): string =>
  `  - ${name}: MixtureOfExperts(d, 1024, num_experts=8, gated=True)${mark}`;
const one = spec(mixture('experts'));
const asked: ScenarioRequest = { cluster: 'h100-sxm', gpus: 1, precision: 'bf16', optimizer: 'adamw' };
const step = (request: ScenarioRequest = {}, of = one): EstimatedStep =>
  lasting(stepOf({ ...asked, ...request }, of), { step: 1 });

/** The mixture of a layer is one operator: its products run at once. */
const productsOf = ({ plan }: EstimatedStep, name: string): readonly number[] => {
  const { layers, graph } = plan.training.analysis;
  const own = layers.find((each) => each.name === name)?.operators ?? [];
  return own.filter((index) => graph.operators[index]?.type === 'MoE');
};

/** The same where each of these kernels takes a second forward and two backward, and one other all the rest. */
function taking(of: EstimatedStep, products: readonly number[], rest: number): EstimatedStep {
  const { times, training } = of.plan;
  const other = training.costs.length - 1;
  const column = (each: number, others: number) =>
    Float64Array.from(training.costs, (_, index) =>
      products.includes(index) ? each : index === other ? others : 0,
    );
  const { folded: _, gradientTimes: __, ...plan } = of.plan;
  const passes = {
    ...times,
    forward: { ...columnsBy(() => column(0, 0)), middle: column(1, rest) },
    backward: { ...columnsBy(() => column(0, 0)), middle: column(2, 2 * rest) },
  };
  const made: StepPlan = { ...plan, times: passes };
  return { ...of, plan: made };
}

const why = 'in fp32. No list of autocast names torch._grouped_mm, which takes the type of its weights';

describe('says', () => {
  const own = step();
  const products = productsOf(own, 'experts');

  test('what they take of all kernels, and what weights in half precision save', () => {
    expect(products).toHaveLength(1);
    const half = recost(own.plan, { framework: { name: 'pytorch-ddp', options: { weights: 'half' } } });
    const time = half === undefined ? expect.fail('not costed') : timesOf(half, 'middle').step;
    expect(uncastProducts(taking(own, products, products.length))).toEqual([
      {
        code: 'findings/uncast-products',
        severity: 'warning',
        layer: 'experts',
        message: `50 % of all kernel time goes to matmuls of \`experts\` ${why}`,
        fix: `Keep weights in half precision (weights=half): ${formatTime(seconds(time))} a step`,
        change: { kind: 'framework-option', name: 'weights', value: 'half' },
      },
    ]);
  });

  test.each([
    [19.1, 0],
    [18.9, 1],
  ])('nothing below a twentieth: with other kernels of %f times their time %i', (times, count) => {
    expect(uncastProducts(taking(own, products, times * products.length))).toHaveLength(count);
  });

  test('nothing of kernels that take no time', () => {
    expect(uncastProducts(taking(own, [], 0))).toEqual([]);
  });

  test('how many more layers have them', () => {
    const two = step({}, spec(`${mixture('a')}\n${mixture('b')}`));
    expect(uncastProducts(two)[0]?.message).toMatch(
      / % of all kernel time goes to matmuls of `a` and 1 more layer in fp32/,
    );
    const three = step({}, spec(`${mixture('a')}\n${mixture('b')}\n${mixture('c')}`));
    expect(uncastProducts(three)[0]?.message).toContain(' of `a` and 2 more layers in fp32');
  });

  test('of a layer whose line asks for fp32 nothing, and of the others still', () => {
    expect(uncastProducts(step({}, spec(mixture('a', ' precision=fp32'))))).toEqual([]);
    const [finding] = uncastProducts(step({}, spec(`${mixture('a', ' precision=fp32')}\n${mixture('b')}`)));
    expect([finding?.layer, finding?.message]).toEqual(['b', expect.stringContaining(`of \`b\` ${why}`)]);
  });

  test.each<[string, ScenarioRequest, number]>([
    ['bf16', {}, 1],
    ['fp16', { precision: 'fp16' }, 1],
    ['fp32, as it was asked for', { precision: 'fp32' }, 0],
    ['TF32, as it was asked for', { precision: 'tf32' }, 0],
    ['weights in half precision', { framework: { name: 'pytorch-ddp', options: { weights: 'half' } } }, 0],
    [
      'a framework that gathers weights in half precision',
      { framework: { name: 'pytorch-fsdp', options: {} }, gpus: 1 },
      0,
    ],
  ])('of %s: %i', (_, request, count) => {
    expect(uncastProducts(step(request))).toHaveLength(count);
  });
});

describe('advises weights in half precision', () => {
  const usual = 'Keep the weights of experts in half precision';
  const own = step();
  const products = productsOf(own, 'experts');
  const half = recost(own.plan, { framework: { name: 'pytorch-ddp', options: { weights: 'half' } } });
  const time = half === undefined ? Number.NaN : timesOf(half, 'middle').step;
  const adviceFor = (of: EstimatedStep, duration: number) =>
    uncastProducts(lasting(taking(of, products, 1), { step: duration }))[0];

  test('where they save a twentieth of the step', () => {
    expect(adviceFor(own, (time / 0.95) * 1.001)?.change).toBeDefined();
    const none = adviceFor(own, (time / 0.95) * 0.999);
    expect([none?.fix, none?.change]).toEqual([usual, undefined]);
  });

  test('not of a measured step, nor where the framework has no such option', () => {
    const measured = step({ measuredStep: seconds(1) });
    expect(
      adviceFor(
        {
          ...own,
          plan: { ...own.plan, ...(measured.plan.measured && { measured: measured.plan.measured }) },
        },
        1,
      ),
    ).toMatchObject({ fix: usual });
    const { scenario } = own.plan;
    const horovod: EstimatedStep = {
      ...own,
      plan: { ...own.plan, scenario: { ...scenario, framework: { name: 'mxnet', options: {} } } },
    };
    expect(adviceFor(horovod, 1)).toMatchObject({ fix: usual });
  });

  test('beside its other options', () => {
    const launching = step({ framework: { name: 'pytorch-ddp', options: { 'launch-us': '50' } } });
    const other = recost(launching.plan, {
      framework: { name: 'pytorch-ddp', options: { 'launch-us': '50', weights: 'half' } },
    });
    const slow = other === undefined ? Number.NaN : timesOf(other, 'middle').step;
    expect(slow).toBeGreaterThan(time);
    expect(adviceFor(launching, 1)?.fix).toContain(`${formatTime(seconds(slow))} a step`);
  });
});
