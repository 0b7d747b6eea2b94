/**
 * The real runner on the CPU, started as the product starts it, and its own Python tests. Needs a Python with
 * torch: LAYERCOST_PYTHON, the virtual environment of the samples, or `python3`.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir, hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { coveragePlan } from '../../scripts/measured/coveragePlan.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { collectiveOperations } from '../../server/src/benchmark/benchmarkEvents.ts';
import {
  calibrationModel,
  calibrationRuns,
} from '../../server/src/benchmark/calibration/calibrationModel.ts';
import { planBenchmark } from '../../server/src/benchmark/planBenchmark.ts';
import type { BenchmarkPlan } from '../../server/src/benchmark/planSchema.ts';
import { runBenchmark } from '../../server/src/benchmark/runBenchmark.ts';
import { runCollectives } from '../../server/src/benchmark/runCollectives.ts';
import { runTrace } from '../../server/src/benchmark/runTrace.ts';
import { planSharedStep, type SharedStepPlan } from '../../server/src/benchmark/sharedStep.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { smallPlan } from '../benchmark/smallPlan.ts';
import { openGraph } from '../support/savedActivations.ts';

const root = resolve(import.meta.dirname, '../..');
const runner = join(root, 'server/src/benchmark/runner');
const install = 'python3 -m pip install torch, or apt-get install python3-torch';

/** Of each form of a call the first and the last of its exports, by name of the exporter and operator set. */
const exportedForms = ['forms', 'attention'].flatMap((part) => {
  const byForm = new Map<string, string[]>();
  for (const name of readdirSync(join(root, 'test/composites', part)).sort()) {
    const [, form] = /^(.+?)-(?:torch[\d.]+-)?(?:dynamo|legacy)\d+\.onnx(?:txt)?$/.exec(name) ?? [];
    if (form !== undefined) byForm.set(form, [...(byForm.get(form) ?? []), name]);
  }
  return [...byForm.values()].flatMap((names) =>
    [...new Set([names[0], names.at(-1)])].flatMap((name) =>
      name === undefined ? [] : [join(root, 'test/composites', part, name)],
    ),
  );
});

/** Of this machine, one that nobody listens on. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });

const sameResults = '{"writtenOut": [], "same": true, "notes": []}';

const transformer = `dims: { batch: 2 }
inputs: { x: "float32[batch, 6, 16]" }
blocks:
  layer:
    - norm: LayerNorm(16)
    - attention: MultiheadAttention(16, 4, dropout=0.1)
    - add: add(attention, input)
    - fc1: Linear(32)
    - act: GELU()
    - fc2: Linear(16)
    - out: add(fc2, add)
layers:
  - h: layer() * 3
`;
const network = `dims: { batch: 2 }
inputs: { x: "float32[batch, 4, 8, 8]" }
blocks:
  part:
    - conv: Conv2d(4, 3, padding=1)
    - norm: BatchNorm2d()
    - act: ReLU()
    - conv2: Conv2d(4, 1)
    - drop: Dropout(0.2)
layers:
  - h: part() * 3
`;

function planOf(text: string): BenchmarkPlan {
  const { training, scenario } = estimateModel(openLayerSpec(text, 'm.layers.yaml'), [
    { gpus: 1, precision: 'fp32', framework: { name: 'pytorch-fsdp', options: {} } },
  ]);
  if (training === undefined || scenario === undefined) throw new Error('not costed');
  return planBenchmark(training, scenario);
}

/** Blocks of the transformer, each with its parameters whole while it runs. */
const sharded: SharedStepPlan = (() => {
  const found = planSharedStep(planOf(transformer), {
    framework: { name: 'pytorch-fsdp', options: { 'communication-dtype': 'fp32' } },
    mode: 'training',
  });
  if ('refusal' in found) throw new Error(found.refusal);
  return found.how;
})();

/** Models of three blocks, and what backward recomputes of them. */
const checkpointed: readonly { readonly text: string; readonly request: ScenarioRequest }[] = [
  { text: transformer, request: { checkpoint: 'block' } },
  { text: transformer, request: { checkpoint: 'selective' } },
  { text: transformer, request: { checkpoint: 'alternate' } },
  { text: transformer, request: { checkpoint: 'alternate-block' } },
  { text: transformer, request: { checkpoint: 'attention' } },
  { text: network, request: { checkpoint: 'block' } },
  {
    text: transformer,
    request: { checkpoint: 'block', framework: { name: 'pytorch-ddp', options: { reentrant: 'true' } } },
  },
];

const python = [
  process.env.LAYERCOST_PYTHON,
  join(homedir(), '.cache/layercost-venv/bin/python'),
  'python3',
  '/usr/bin/python3',
].find((candidate) => candidate !== undefined && hasTorch(candidate));

if (python === undefined && process.env.CI === 'true') {
  it('finds a Python with torch', () => expect.fail(`no Python here has torch: ${install}`));
}

describe.skipIf(python === undefined)(
  python === undefined ? `the runner (no Python here has torch: ${install})` : 'the runner',
  { timeout: 120_000 },
  () => {
    it('measures a plan on the CPU and labels it so', async () => {
      const phases: string[] = [];
      const { measurements, failure } = await runBenchmark(smallPlan({ budgetSeconds: 0.5 }), {
        runner,
        device: 'cpu',
        ...(python === undefined ? {} : { python }),
        onProgress: ({ message }) => phases.push(message),
      });
      expect(failure).toBeUndefined();
      expect(measurements?.device.kind).toBe('cpu');
      expect(measurements?.origin).toMatch(/^CPU \(.*threads?\), torch \d/);
      expect(measurements?.step).toBeGreaterThan(0);
      expect([...(measurements?.layers.keys() ?? [])]).toEqual(['fc', 'act']);
      expect(measurements?.layers.get('fc')?.backward).toBeGreaterThan(0);
      expect(phases.length).toBeGreaterThan(0);
    });

    it('runs calls in place of what exporters wrote out, and programs that compute what the plan does', () => {
      const plans = exportedForms.flatMap((path) => {
        const { training, scenario } = estimateModel(openGraph(path), [
          { gpus: 1, batch: 2, precision: 'fp32' },
        ]);
        return training === undefined || scenario === undefined ? [] : [planBenchmark(training, scenario)];
      });
      expect(plans.length).toBeGreaterThan(100);
      const found = runPlans(plans);
      const wrong = found.flatMap((line, index) => {
        // Tensors that are stored in half precision have no products on processors before torch 2.
        const isHalf =
          exportedForms[index]?.includes('half') === true && /not implemented for 'Half'/.test(line);
        return line === sameResults || isHalf ? [] : [`${exportedForms[index]}: ${line}`];
      });
      expect(wrong).toEqual([]);
      expect(found).toHaveLength(plans.length);
    });

    it('computes with checkpointing what it does without', () => {
      const plans = checkpointed.flatMap(({ text, request }) => {
        const { training, scenario } = estimateModel(openLayerSpec(text, 'm.layers.yaml'), [
          { gpus: 1, precision: 'fp32', ...request },
        ]);
        return training === undefined || scenario === undefined ? [] : [planBenchmark(training, scenario)];
      });
      expect(plans.map(({ recomputed }) => recomputed.length)).toEqual(
        checkpointed.map(({ request }) => (request.checkpoint === 'alternate-block' ? 1 : 3)),
      );
      // What is kept of a block can be chosen from torch 2.4.
      const found = runPlans(plans).filter((line) => !/has no selective checkpointing/.test(line));
      expect(found.length).toBeGreaterThanOrEqual(3);
      expect(new Set(found)).toEqual(new Set([sameResults]));
    });

    it.each<[string, SharedStepPlan]>([
      [
        'pytorch-ddp',
        { kind: 'ddp', bucketMb: 25, firstBucketMb: 1, gradientAsBucketView: false, gradientDtype: 'fp32' },
      ],
      ['pytorch-fsdp', sharded],
    ])('two processes share a step by %s', async (_, how) => {
      const { measurements, failure } = await runBenchmark(
        { ...planOf(transformer), budgetSeconds: 0.5 },
        { runner, device: 'cpu', shared: { ranks: 2, how }, ...(python === undefined ? {} : { python }) },
      );
      // FSDP2 is there since torch 2.6.
      if (how.kind === 'fsdp' && failure?.kind === 'not-shared') {
        expect(failure.message).toMatch(/has no FSDP2/);
        return;
      }
      expect(failure).toBeUndefined();
      expect(measurements?.sharedStep).toMatchObject({ ranks: 2, backend: 'gloo' });
      expect(measurements?.sharedStep?.whole).toBeGreaterThan(0);
      expect(measurements?.step).toBeGreaterThan(0);
    });

    it('runs every sample, forward and backward, on tensors without contents', ({ skip }) => {
      const plans = readdirSync(join(root, 'samples'))
        .filter((name) => name.endsWith('.layers.yaml'))
        .map((name) => coveragePlan(join(root, 'samples', name)));
      expect(plans.length).toBeGreaterThan(5);
      const answers = runPlans(
        plans.filter((plan) => plan !== undefined),
        'run_without_contents.py',
      );
      skip(answers[0]?.includes('PyTorch 2 is needed') === true, 'this Python has an older PyTorch');
      expect(answers).toEqual(plans.map(() => '{"failed": null, "problems": []}'));
    });

    it('runs behind a launcher, which has none of its files', async () => {
      const { measurements, failure } = await runBenchmark(
        { ...planOf(transformer), model: 'a "quoted" 模型', budgetSeconds: 0.5 },
        { runner, device: 'cpu', launcher: ['env', '-C', '/'], ...(python === undefined ? {} : { python }) },
      );
      expect(failure).toBeUndefined();
      expect(measurements?.step).toBeGreaterThan(0);
      expect(measurements?.reached).toMatchObject({ launcher: 'env -C /', name: hostname() });
    });

    it('starts processes behind a launcher', async () => {
      const { measurements, failure } = await runCollectives({
        runner,
        device: 'cpu',
        launcher: ['env', '-C', '/'],
        ranks: 2,
        budgetSeconds: 0.2,
        sizes: [1_024],
        ...(python === undefined ? {} : { python }),
      });
      expect(failure).toBeUndefined();
      expect(measurements?.rows.map(({ operation }) => operation)).toEqual(collectiveOperations);
    });

    it('processes of two machines meet at an address', async () => {
      // Two programs on this machine, as srun starts one on each node.
      const each = 'sent=$(cat); for node in 1 2; do printf "%s\\n" "$sent" | "$@" & done; wait';
      const { measurements, failure } = await runCollectives({
        runner,
        device: 'cpu',
        launcher: ['sh', '-c', each, '--'],
        ranks: 1,
        nodes: { count: 2, rendezvous: `localhost:${await freePort()}` },
        budgetSeconds: 0.2,
        sizes: [1_024],
        ...(python === undefined ? {} : { python }),
      });
      expect(failure).toBeUndefined();
      expect(measurements?.rows.map(({ ranks }) => ranks)).toEqual(collectiveOperations.map(() => 2));
    });

    it('traces a step: each layer its operators, in a file that Perfetto reads', async () => {
      const plan = { ...planOf(transformer), budgetSeconds: 0.5 };
      const { measurements, failure } = await runTrace(plan, {
        runner,
        device: 'cpu',
        ...(python === undefined ? {} : { python }),
      });
      expect(failure).toBeUndefined();
      const traced = plan.layers.filter(({ operators }) => operators.length > 0).map(({ name }) => name);
      expect([...(measurements?.layers.keys() ?? [])]).toEqual(traced);
      for (const { forward, backward } of measurements?.layers.values() ?? []) {
        expect(forward?.kernels).toBeGreaterThan(0);
        expect(backward?.seconds).toBeGreaterThan(0);
      }
      const { traceEvents } = JSON.parse(gunzipSync(measurements?.file ?? '').toString('utf8'));
      const names = new Set(traceEvents.map(({ name }: { readonly name: string }) => name));
      expect(traced.filter((name) => !names.has(name))).toEqual([]);
    });

    it('measures collectives of two processes', async () => {
      const { measurements, failure } = await runCollectives({
        runner,
        device: 'cpu',
        ranks: 2,
        budgetSeconds: 0.5,
        sizes: [1_024, 65_536],
        ...(python === undefined ? {} : { python }),
      });
      expect(failure).toBeUndefined();
      const rows = measurements?.rows ?? [];
      expect(rows.map(({ operation, bytes }) => [operation, bytes])).toEqual(
        collectiveOperations.flatMap((operation) => [1_024, 65_536].map((bytes) => [operation, bytes])),
      );
      expect(rows.every(({ median, ranks }) => median > 0 && ranks === 2)).toBe(true);
    });

    it('runs every kernel of calibration, in all its sizes', ({ skip }) => {
      const plans = (['cpu', 'cuda'] as const)
        .flatMap((kind) => calibrationRuns(kind, 60))
        .map(({ request }) => {
          const opened = openLayerSpec(calibrationModel, 'kernels.layers.yaml');
          const { training, scenario } = estimateModel(opened, [request]);
          if (training === undefined || scenario === undefined) throw new Error('not costed');
          return planBenchmark(training, scenario);
        });
      const answers = runPlans(plans, 'run_without_contents.py');
      skip(answers[0]?.includes('PyTorch 2 is needed') === true, 'this Python has an older PyTorch');
      expect(answers).toEqual(plans.map(() => '{"failed": null, "problems": []}'));
    });

    it('passes its own tests', () => {
      const run = spawnSync(python ?? '', [join(import.meta.dirname, 'test_runner.py')], {
        encoding: 'utf8',
      });
      expect(run.stderr).toMatch(/\nOK\b/);
      expect(run.status).toBe(0);
    });
  },
);

/** What a script says of each plan. */
function runPlans(plans: readonly BenchmarkPlan[], script = 'run_plans.py'): readonly string[] {
  const ran = spawnSync(python ?? '', [join(import.meta.dirname, script)], {
    encoding: 'utf8',
    input: plans.map((plan) => `${JSON.stringify(plan)}\n`).join(''),
    maxBuffer: 2 ** 26,
  });
  expect(ran.stderr).not.toMatch(/Traceback/);
  return ran.stdout.trim().split('\n');
}

function hasTorch(candidate: string): boolean {
  try {
    const find = 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)';
    execFileSync(candidate, ['-c', find], { stdio: 'ignore', timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
}
