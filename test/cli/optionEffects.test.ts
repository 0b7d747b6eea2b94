/** Every option of a scenario on samples of every format: it changes the report, or the report says that it does not. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { readArguments } from '../../server/src/cli/arguments.ts';
import {
  costModelFile,
  type ModelFile,
  openModelFile,
  withOptionEffects,
} from '../../server/src/cli/costFile.ts';
import type { ScenarioArguments, scenarioOptions } from '../../server/src/cli/scenarioArguments.ts';
import { makeReport } from '../../server/src/estimate/report/makeReport.ts';
import type { Report } from '../../server/src/estimate/report/report.ts';
import { pytorchDdp } from '../../server/src/frameworks/pytorchDdp.ts';

vi.mock('../../server/src/cli/streams.ts', () => ({ printData: vi.fn(), printMessage: vi.fn() }));

const folder = mkdtempSync(join(tmpdir(), 'layercost-effects-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const trace = join(folder, 'trace.csv');
writeFileSync(trace, 'layer,forward_ms,backward_ms\nnone,1,2\n');

const samples = [
  ['samples/lenet.prototxt', '--mode inference --gpus 1 --cluster a100-sxm-80gb'],
  ['samples/alexnet.onnx', '--cluster dgx-1-v100 --gpus 8'],
  ['samples/more/llama-3-8b.layers.yaml', '--precision bf16 --gpus 1 --cluster h100-sxm'],
  ['samples/gpt2.onnx', '--gpus 16'],
] as const;

/** Values other than the defaults; what the report would name where one of them does nothing. */
const values: Readonly<Record<keyof typeof scenarioOptions, readonly (readonly [string, string])[]>> = {
  cluster: [['rtx-3090', 'cluster']],
  gpus: [['2', 'gpus']],
  nodes: [['2', 'node']],
  batch: [['3', 'batch']],
  'global-batch': [['48', 'batch']],
  accumulate: [['2', 'accumulate']],
  dim: [['seq=256', 'seq']],
  precision: [
    ['fp16', 'fp16'],
    ['tf32', 'tf32'],
    ['fp8', 'fp8'],
  ],
  freeze: [['*', 'freeze']],
  lora: [
    ['4', 'rank'],
    ['rank=4,dropout=0.1', 'dropout'],
    ['rank=4,base=nf4', 'base'],
  ],
  optimizer: [
    ['sgd', 'sgd'],
    ['none', 'none'],
  ],
  framework: [
    ['horovod', 'horovod'],
    ['pytorch-fsdp', 'pytorch-fsdp'],
    ['naive', 'naive'],
    ['byteps,servers=3', 'servers'],
    ...pytorchDdp.options.map(({ name, default: standard, expects: { choices } }) => {
      const other = choices?.find((each) => each !== standard) ?? '3';
      return [`pytorch-ddp,${name}=${other}`, `${name}=${other}`] as const;
    }),
  ],
  mode: [['inference', 'inference']],
  past: [['100', 'past']],
  checkpoint: [
    ['none', 'checkpoint'],
    ['block', 'checkpoint'],
    ['selective', 'checkpoint'],
    ['alternate', 'checkpoint'],
  ],
  parallel: [
    ['tp=2', 'parallel'],
    ['tp=2,sp', 'parallel'],
    ['pp=2', 'parallel'],
    ['pp=2,stages=uniform', 'stages'],
  ],
  loss: [
    ['none', 'loss'],
    ['cross-entropy', 'loss'],
  ],
  threshold: [['launch-bound=0.9', 'launch-bound=0.9']],
  input: [
    ['sample-bytes=100000', 'sample-bytes'],
    ['sample-bytes=100000,source=local', 'source'],
  ],
  workers: [
    ['straggler=1.5', 'straggler'],
    ['other-gpu=k80', 'other-gpu'],
  ],
  run: [['samples=100000,price=2', 'run']],
  'measured-step': [['0.5', 'measured-step']],
  'layer-trace': [[trace, 'trace.csv']],
};

const known = new Map<string, Promise<ModelFile | undefined>>();
function openedOnce(path: string, scenario: ScenarioArguments): Promise<ModelFile | undefined> {
  const key = JSON.stringify([path, scenario.request.dimensions, scenario.layerTrace]);
  const opened = known.get(key) ?? openModelFile(path, scenario);
  known.set(key, opened);
  return opened;
}

/** What the report command makes its report of, unrendered; a text where it refuses. */
async function reportOf(path: string, options: readonly string[]): Promise<Report | string> {
  const read = readArguments(['report', path, ...options]);
  if (read.kind === 'wrong' || read.arguments.command !== 'report') return JSON.stringify(read);
  const { scenario } = read.arguments;
  const file = await openedOnce(path, scenario);
  if (file === undefined) return 'not opened';
  const { opened, training, cost, issues } = withOptionEffects(costModelFile(file, scenario.request), file);
  return training === undefined || cost === undefined
    ? 'refused'
    : makeReport(opened, training.analysis, cost, issues);
}

const costs = (report: Report): unknown => [
  report.totals,
  report.messages,
  report.layers,
  costFindings(report),
];
const costFindings = ({ findings }: Report) => findings.filter(({ code }) => code.startsWith('findings/'));

/** Of options that can be given once, the last one counts. */
const without = (base: readonly string[], option: string): readonly string[] => {
  const at = base.indexOf(`--${option}`);
  return at < 0 ? base : base.toSpliced(at, 2);
};

const options = Object.entries(values).flatMap(([option, given]) =>
  given.map(([value, named]) => ({ option, value, named })),
);

describe.each(samples)('%s %s', (file, base) => {
  test.each(options)('--$option $value', async ({ option, value, named }) => {
    const shared = without(base.split(' '), option);
    const plain = await reportOf(file, shared);
    if (typeof plain === 'string') throw new Error(plain);
    const report = await reportOf(file, [...shared, `--${option}`, value]);
    // A scenario that cannot be costed is refused, with the reason.
    if (typeof report === 'string') return;
    const changed = JSON.stringify(costs(report)) !== JSON.stringify(costs(plain));
    const said = report.findings.filter(({ code }) => /^(scenario|measurement)\//.test(code));
    const isAlready = JSON.stringify(report.scenario) === JSON.stringify(plain.scenario);
    const [, name = '', choice = ''] = /,([^=]+)=(.+)$/.exec(value) ?? [];
    const shown = JSON.stringify(report.scenario);
    const isShown = shown.includes(value) || shown.includes(`"${name}":"${choice}"`);
    const isGranted = isAlready && (value === 'none' || isShown);
    expect(
      changed || isGranted || said.some(({ message }) => message.includes(named)),
      JSON.stringify(said.map(({ message }) => message)),
    ).toBe(true);
  });
});

test.each([
  ['--mode inference --optimizer sgd', '`optimizer: sgd` has no effect in inference; it has one in training'],
  [
    '--cluster dgx-h100 --gpus 1 --framework pytorch-ddp,bucket-mb=50',
    '`bucket-mb=50` has no effect on one GPU; it has one on 8 GPUs',
  ],
  [
    '--precision bf16 --framework pytorch-ddp,conv-tf32=false',
    '`conv-tf32=false` has no effect in bf16; it has one in fp32',
  ],
  [
    '--framework pytorch-ddp,reentrant=true --gpus 1',
    '`reentrant=true` has no effect: no part of this step depends on it; leave it out. What it sets: with checkpointing: true recomputes a block to its end (use_reentrant=True, and PyTorch before 2.1); false stops when backward has what it needs',
  ],
  [
    '--mode inference --framework pytorch-ddp,bucket-mb=50 --cluster a100-sxm-80gb',
    '`bucket-mb=50` has no effect in inference, on one GPU; it has one in training, on several GPUs',
  ],
])('ResNet-50 %s: %s', async (options, message) => {
  const report = await reportOf('samples/resnet50.onnx', options.split(' '));
  if (typeof report === 'string') throw new Error(report);
  const said = report.findings
    .filter(({ code }) => code === 'scenario/no-effect')
    .map((each) => each.message);
  expect(said).toEqual([message]);
});
