/** Stages whose host is the limit: the finding says so, and what it advises was costed. */

import { expect, it } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { formatTime } from '../../../server/src/model/format.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import type { StepCost } from '../../../server/src/model/stepCost.ts';

const spec = `dims: { seq: 128, d: 512 }
inputs: { x: "int64[batch, seq]" }
layers:
  - embed: Embedding(1000, d)
  - h: TransformerEncoderLayer(d, 8, dim_feedforward=2048, batch_first=True) * 8
  - head: Linear(d, 1000)
`;

function costOf(request: ScenarioRequest): StepCost {
  const { cost, issues } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [request]);
  if (cost === undefined) throw new Error(JSON.stringify(issues));
  return cost;
}

const launchBound = ({ findings }: StepCost) =>
  findings.filter(({ code }) => code === 'findings/launch-bound');

it.each([
  [{ pipeline: 4 }, 8],
  [{ tensor: 4 }, 8],
  [{ tensor: 2, pipeline: 2 }, 8],
] as const)('small micro-batches over %j', (parallel, accumulate) => {
  const request = { cluster: 'dgx-h100', gpus: 8, batch: 2, accumulate, parallel } as const;
  const cost = costOf(request);
  const [finding] = launchBound(cost);
  expect(cost.totals.limit.kind).toBe('host');
  expect(finding?.message).toMatch(
    /^The GPU waits for the host during \d\d % of the step\. In a micro-batch \d+ kernels with a mean of \S+ µs are launched every \S+ µs$/,
  );
  const [, batch, passes, step] =
    /[Uu]se [\w -]+ of \d+ \(`batch=(\d+)`, `accumulate=(\d+)`\), which takes (\S+ \S+) a step/.exec(
      finding?.fix ?? '',
    ) ?? [];
  const after = costOf({ ...request, batch: Number(batch), accumulate: Number(passes) });
  expect(formatTime(after.totals.time.step)).toBe(step);
  expect(Number(batch) * Number(passes)).toBe(request.batch * accumulate);
  expect(finding?.fix).toMatch(
    /[Cc]ompile the model \(compile=reduce-overhead\) to launch fewer kernels, which takes/,
  );
});

it('large micro-batches do not wait for the host', () => {
  const cost = costOf({ cluster: 'dgx-a100', gpus: 8, batch: 256, accumulate: 8, parallel: { pipeline: 4 } });
  expect(launchBound(cost)).toEqual([]);
});
