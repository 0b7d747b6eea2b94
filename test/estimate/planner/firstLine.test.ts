/** The first line of a plan is what a report says of that layout, for models and clusters at random. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { layoutSearch } from '../../../server/src/estimate/planner/layoutSearch.ts';
import { searchLayouts } from '../../../server/src/estimate/planner/searchLayouts.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { finish } from '../../../server/src/model/steps.ts';

interface Case {
  readonly heads: number;
  readonly layers: number;
  readonly seq: number;
  readonly mlp: 'dense' | 'gated' | 'experts';
  readonly cluster: string;
  readonly gpus: number;
  readonly samplesPerGpu: number;
}

const cases: fc.Arbitrary<Case> = fc.record({
  heads: fc.constantFrom(2, 6, 8, 12),
  layers: fc.integer({ min: 1, max: 5 }),
  seq: fc.constantFrom(64, 256, 1024),
  mlp: fc.constantFrom('dense' as const, 'gated' as const, 'experts' as const),
  cluster: fc.constantFrom('dgx-a100', 'dgx-h100', 'g4dn-12xlarge', 'p3-16xlarge', 'gb200-nvl72'),
  gpus: fc.constantFrom(2, 4, 8),
  samplesPerGpu: fc.constantFrom(1, 2, 4),
});

const mlps: Readonly<Record<Case['mlp'], string>> = {
  dense: '    - up: Linear(h, 4*h)\n    - act: GELU()\n    - down: Linear(4*h, h)',
  gated:
    '    - up: Linear(h, 3*h)\n    - gate: Linear(h, 3*h) from norm_2\n    - act: SiLU()\n    - both: mul(act, up)\n    - down: Linear(3*h, h)',
  experts: '    - down: MixtureOfExperts(h, 2*h, num_experts=4, top_k=2, gated=True)',
};

const textOf = ({
  heads,
  layers,
  seq,
  mlp,
}: Case): string => `dims: { batch: 1, seq: ${seq}, h: ${64 * heads} }
inputs:
  tokens: int64[batch, seq]
blocks:
  decoder:
    - norm: RMSNorm(h)
    - attn: MultiheadAttention(h, ${heads}, causal=True)
    - res_1: add(attn, input)
    - norm_2: RMSNorm(h)
${mlps[mlp]}
    - res_2: add(down, res_1)
layers:
  - embed: Embedding(5000, h)
  - h: decoder() * ${layers}
  - head: Linear(h, 5000)
`;

it('the first line is the report of its layout, to the last digit', () => {
  let planned = 0;
  fc.assert(
    fc.property(cases, (each) => {
      const { cluster, gpus, samplesPerGpu } = each;
      const asked: ScenarioRequest = { cluster, gpus, globalBatch: gpus * samplesPerGpu };
      const costsOf = (requests: readonly ScenarioRequest[]) =>
        estimateModel(openLayerSpec(textOf(each), 'random.layers.yaml'), requests);
      const opened = openLayerSpec(textOf(each), 'random.layers.yaml');
      const search = layoutSearch(
        estimateModel(opened, [asked]),
        asked,
        (request) => estimateModel(opened, [{ ...asked, ...request }]).cost,
      );
      if (search === undefined || 'problem' in search) throw new Error('not costed');
      const [best] = finish(searchLayouts(search)).fitting;
      if (best === undefined) return;
      planned += 1;
      const report = costsOf([{ ...asked, ...best.request }]).cost;
      expect(report?.totals.time.step).toBe(best.step);
      expect(report?.totals.time.range).toEqual(best.cost.totals.time.range);
      expect(report?.totals.memory.peak).toBe(best.cost.totals.memory.peak);
      expect(report?.scenario).toEqual(best.cost.scenario);
    }),
    { numRuns: 30, seed: 20 },
  );
  expect(planned).toBeGreaterThan(25);
}, 400_000);
