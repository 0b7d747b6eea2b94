/** What is said of experts that GPUs share: the message by times that are given, the advice by what each other layout takes. */

import { describe, expect, test } from 'vitest';
import { expertFindings } from '../../../server/src/estimate/parallel/expertFindings.ts';
import type { LaidOutStep } from '../../../server/src/estimate/parallel/laidOutStep.ts';
import { changed, fits, timeOf } from '../../../server/src/estimate/parallel/otherLayouts.ts';
import { formatPercent, formatTime } from '../../../server/src/model/format.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { bytes, seconds } from '../../../server/src/model/units.ts';
import { exchanging, laidOutStep, withThresholds } from '../../support/laidOutStep.ts';

const spec = `
dims: { batch: 1, seq: 512, d: 512 }
inputs:
  tokens: int64[batch, seq]
layers:
  - embed: Embedding(1000, d)
  - experts: MixtureOfExperts(d, 1024, num_experts=16, top_k=2, gated=True)
  - head: Linear(d, 1000, bias=False)
`;
const asked: ScenarioRequest = { cluster: 'dgx-h100', gpus: 16, batch: 1, accumulate: 2, precision: 'bf16' };
const shared = (
  parallel: ScenarioRequest['parallel'] = { expert: 8 },
  request: ScenarioRequest = {},
): LaidOutStep =>
  laidOutStep(spec, { ...asked, ...request, ...(parallel === undefined ? {} : { parallel }) });
const byEight = shared();

describe('all-to-alls', () => {
  /** Of a step of one second, with two passes. */
  const waiting = (step: LaidOutStep, inPass: number, time = 1) =>
    expertFindings(exchanging(step, 'expert', { time, inPass }));

  test('are said with their share and their time, those of all passes', () => {
    expect(waiting(byEight, 0.25)).toMatchObject([
      {
        code: 'findings/expert-communication',
        severity: 'warning',
        layer: '',
        message:
          'All-to-alls of expert parallelism take 50 % of the step (500 ms), and nothing computes meanwhile',
      },
    ]);
  });

  test('of a group that spans nodes say so', () => {
    expect(waiting(shared({ expert: 16 }), 0.25)[0]?.message).toBe(
      'All-to-alls of expert parallelism take 50 % of the step (500 ms), and nothing computes meanwhile. The 16 GPUs of a group lie on 2 nodes of 8',
    );
  });

  test.each([
    [0.2, 0.0999, 0],
    [0.2, 0.1, 1],
    [undefined, 0.0999, 0],
    [undefined, 0.1001, 1],
    [0.1, 0.05, 1],
    [0.5, 0.2499, 0],
  ])('with a threshold of %s, %f s in each of two passes: %i', (threshold, inPass, count) => {
    const step =
      threshold === undefined ? byEight : withThresholds(byEight, { 'expert-communication': threshold });
    expect(waiting(step, inPass)).toHaveLength(count);
  });

  test('of GPUs that have all experts there are none', () => {
    expect(expertFindings(exchanging(shared({ tensor: 2 }), 'expert', { time: 1, inPass: 0.4 }))).toEqual([]);
    const even = exchanging(byEight, 'expert', { time: 1, inPass: 0.4 });
    expect(
      expertFindings({ ...even, parallel: { ...even.parallel, expert: 1, expertImbalance: 2 } }),
    ).toEqual([]);
  });

  const noneIsFaster =
    'No smaller group that fits in memory is faster: use faster links between the GPUs of a group';

  test('advice is the fastest of a half, a quarter and an eighth', () => {
    const others = [4, 2, 1].map((expert) => changed(byEight, { expert }) ?? expect.fail(`ep=${expert}`));
    const [best] = others.toSorted((one, other) => one.times.step - other.times.step);
    const degree = best?.parallel.expert;
    const way = degree === 1 ? 'Leave `ep` out' : `Use \`ep=${degree}\``;
    expect(waiting(byEight, 0.25)[0]?.fix).toBe(
      `${way}, which takes ${best && timeOf(best)} a step of as many samples instead of 1.00 s`,
    );
  });

  test('a group of two can only be left', () => {
    const byTwo = shared({ expert: 2 });
    const alone = changed(byTwo, { expert: 1 }) ?? expect.fail('not laid out');
    expect(waiting(byTwo, 0.25)[0]?.fix).toBe(
      `Leave \`ep\` out, which takes ${timeOf(alone)} a step of as many samples instead of 1.00 s`,
    );
  });

  test('of groups that do not halve there is none', () => {
    const fifteen = laidOutStep(spec.replace('num_experts=16', 'num_experts=15'), {
      ...asked,
      gpus: 15,
      parallel: { expert: 5 },
    });
    expect(waiting(fifteen, 0.25)[0]?.fix).toBe(noneIsFaster);
  });

  test('no layout that is slower is advised, nor one that does not fit', () => {
    expect(waiting(byEight, 0.4e-9, 1e-9)[0]?.fix).toBe(noneIsFaster);
    const memory = { ...byEight.cluster.gpu.memory, value: bytes(1e6) };
    const small: LaidOutStep = {
      ...byEight,
      cluster: { ...byEight.cluster, gpu: { ...byEight.cluster.gpu, memory } },
    };
    expect(fits(changed(small, { expert: 4 }) ?? expect.fail('not laid out'))).toBe(false);
    expect(waiting(small, 0.25)[0]?.fix).toBe(noneIsFaster);
  });

  describe('of Megatron-LM', () => {
    const framework = (options: Readonly<Record<string, string>>) => ({
      framework: { name: 'megatron', options: { 'distributed-optimizer': 'true', ...options } },
    });
    const wide = { gpus: 32, accumulate: 1 };
    const dispatched = (options: Readonly<Record<string, string>> = {}) =>
      shared({ expert: 16 }, { ...wide, ...framework(options) });

    test('rows that are sent once to a node are advised where no smaller group is faster', () => {
      const copies = dispatched();
      const once = dispatched({ 'moe-token-dispatcher': 'flex' });
      const smaller = [8, 4, 2].map((expert) => changed(copies, { expert })?.times.step ?? expect.fail());
      const fix = waiting(copies, 0.25)[0]?.fix;
      if (once.times.step <= Math.min(1, ...smaller))
        expect(fix).toBe(
          `Send each row once to a node (\`moe-token-dispatcher=flex\` of \`megatron\`), which takes ${timeOf(once)} a step instead of 1.00 s`,
        );
      else expect(fix).toMatch(/^Use `ep=/);
    });

    test('and not where they are sent so already', () => {
      expect(waiting(dispatched({ 'moe-token-dispatcher': 'flex' }), 0.25)[0]?.fix).not.toContain('flex');
    });

    test('nor where that takes no less', () => {
      expect(waiting(dispatched(), 0.4e-9, 1e-9)[0]?.fix).toBe(noneIsFaster);
    });
  });
});

describe('experts that are chosen more often than others', () => {
  const uneven = shared({ expert: 8, expertImbalance: 1.5 });
  const even = changed(uneven, { expertImbalance: 1 }) ?? expect.fail('not laid out');
  /** Of a step that takes `wait` longer than with experts that are chosen equally often. */
  const waiting = (wait: number, step = uneven) =>
    expertFindings({ ...exchanging(step, 'expert', { time: even.times.step + wait, inPass: 0 }) });

  test('hold up the others: so long, and so much of the step', () => {
    const wait = even.times.step;
    expect(waiting(wait)).toEqual([
      {
        code: 'findings/load-imbalance',
        severity: 'warning',
        layer: '',
        message: `GPUs wait ${formatTime(seconds(wait))}, 50 % of the step, for the one of 8 whose experts are chosen most: it computes 1.5 times the mean of rows`,
        fix: 'Train the router towards equal shares (an auxiliary loss), give experts room for a number of rows (`capacity_factor`), or use a smaller `ep`',
      },
    ]);
    expect(waiting(0.1 * even.times.step)[0]?.message).toContain(`${formatPercent(0.1 / 1.1)} of the step`);
  });

  test.each([
    [0.2, 0],
    [0.3, 1],
  ])('that are %f of the even step longer, a quarter of the step allowed: %i', (part, count) => {
    const allowed = withThresholds(uneven, { 'load-imbalance': 0.2 });
    expect(waiting(part * even.times.step, allowed)).toHaveLength(count);
  });

  test('chosen equally often, or a step that is no longer for it', () => {
    expect(waiting(-0.5 * even.times.step)).toEqual([]);
    const time = 2 * byEight.times.step;
    expect(expertFindings(exchanging(byEight, 'expert', { time, inPass: 0 }))).toEqual([]);
  });

  test('both are said, what is sent first', () => {
    const step = exchanging(uneven, 'expert', { time: 1, inPass: 0.25 });
    expect(expertFindings(step).map(({ code }) => code)).toEqual([
      'findings/expert-communication',
      'findings/load-imbalance',
    ]);
  });
});
