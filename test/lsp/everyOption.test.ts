/**
 * Every setting of the manifest and every option of the command line, through to the report: what the option changes of
 * the JSON report, by value, and that the server with the setting writes the report that the command line writes.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import manifest from '../../package.json';
import { readArguments } from '../../server/src/cli/arguments.ts';
import { runReportCommand } from '../../server/src/cli/reportCommand.ts';
import { scenarioOptions } from '../../server/src/cli/scenarioArguments.ts';
import { type Report, reportSchema } from '../../server/src/estimate/report/report.ts';
import { groupNames } from '../../server/src/formats/scenarioGroups.ts';
import { makeReport, type ReportResult } from '../../server/src/protocol.ts';
import { startTestServer, type TestClient } from './testServer.ts';

const folder = mkdtempSync(join(tmpdir(), 'layercost-options-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Three blocks of a linear layer and GELU over N·S rows. */
const model = `<ir_version: 9, opset_import: ["" : 20]>
model (float[N, S, 512] x) => (float[N, S, 512] x3)
<float[512, 512] w0 = {...}, float[512, 512] w1 = {...}, float[512, 512] w2 = {...}>
{
  ["/h.0/fc/MatMul"] p0 = MatMul (x, w0)
  ["/h.0/act/Gelu"] x1 = Gelu (p0)
  ["/h.1/fc/MatMul"] p1 = MatMul (x1, w1)
  ["/h.1/act/Gelu"] x2 = Gelu (p1)
  ["/h.2/fc/MatMul"] p2 = MatMul (x2, w2)
  ["/h.2/act/Gelu"] x3 = Gelu (p2)
}
`;
const file = join(folder, 'model.onnxtxt');
const uri = 'file:///models/model.onnxtxt';
writeFileSync(file, model);
const trace = join(folder, 'trace.csv');
writeFileSync(trace, 'layer,forward_ms,backward_ms\n/h.0/fc,1,2\n');

interface Row {
  /** The option; what it needs beside stands in `beside`, without which it would say nothing. */
  readonly option: string;
  readonly given: string;
  /** The same as a setting: its key, and its value. Left out where no setting says it. */
  readonly setting?: readonly [key: string, value: unknown];
  readonly beside?: readonly [options: readonly string[], settings: Readonly<Record<string, unknown>>];
  /** Of the JSON report on another cluster than the default. */
  readonly cluster?: string;
  readonly of: (report: Report) => unknown;
  readonly before: unknown;
  readonly after: unknown;
}

const threeDigits = (value: number | null | undefined): number =>
  Number((value ?? Number.NaN).toPrecision(3));
const images = 'sample-bytes=100000';
const job = 'samples=1000000';
/** A member of a group: `--input sample-bytes=100000,source=shared`, `"layercost.input": { …, "source": "shared" }`. */
const member = (
  group: 'input' | 'workers' | 'run',
  name: string,
  value: string | number,
  of: Row['of'],
  before: unknown,
  after: unknown,
): Row => {
  const first = { input: images, workers: '', run: job }[group];
  const beside =
    name === 'other-count' ? 'other-gpu=a100-sxm-80gb' : first.startsWith(`${name}=`) ? '' : first;
  const [key = '', number = ''] = beside.split('=');
  const settings = beside === '' ? {} : { [key]: key === 'other-gpu' ? number : Number(number) };
  return {
    option: group,
    given: [beside, `${name}=${value}`].filter((part) => part !== '').join(),
    setting: [group, { ...settings, [name]: value }],
    ...(beside === '' ? {} : { beside: [[`--${group}`, beside], { [group]: settings }] }),
    of,
    before,
    after,
  };
};

const scenario =
  (key: keyof Report['scenario']): Row['of'] =>
  (report) =>
    report.scenario[key];
/** `tp=2,sp=on` as a setting. */
const settingOf = (given: string): Readonly<Record<string, number | string>> =>
  Object.fromEntries(
    given.split(',').map((pair) => {
      const [name = '', value = ''] = pair.split('=');
      return [name, /^\d+$/.test(value) ? Number(value) : value];
    }),
  );

/** A member of `--parallel`, as the report says it. */
const shared = (
  given: string,
  key: keyof NonNullable<Report['scenario']['parallel']>,
  after: unknown,
): Row => ({
  option: 'parallel',
  given,
  setting: ['parallel', settingOf(given)],
  of: (report) => report.scenario.parallel?.[key],
  before: undefined,
  after,
});
const findings = ({ findings: all }: Report): readonly string[] => all.map(({ code }) => code);
const has =
  (finding: string): Row['of'] =>
  (report) =>
    findings(report).includes(`findings/${finding}`);

const rows: readonly Row[] = [
  {
    option: 'cluster',
    given: 'h100-sxm',
    setting: ['cluster', 'h100-sxm'],
    of: scenario('cluster'),
    before: 'dgx-h100',
    after: 'h100-sxm',
  },
  { option: 'gpus', given: '4', setting: ['gpus', 4], of: scenario('gpus'), before: 8, after: 4 },
  { option: 'nodes', given: '2', setting: ['nodes', 2], of: scenario('nodes'), before: 1, after: 2 },
  { option: 'batch', given: '5', setting: ['batch', 5], of: scenario('batchPerGpu'), before: 1, after: 5 },
  {
    option: 'global-batch',
    given: '16',
    setting: ['globalBatch', 16],
    of: scenario('batchPerGpu'),
    before: 1,
    after: 2,
  },
  {
    option: 'accumulate',
    given: '3',
    setting: ['accumulate', 3],
    of: scenario('accumulate'),
    before: undefined,
    after: 3,
  },
  // MFU is the FLOPs of all passes, at the peak, over the step.
  {
    option: 'accumulate',
    given: '3',
    setting: ['accumulate', 3],
    of: ({ totals: { mfu, flops, time } }) =>
      threeDigits(((mfu ?? 0) * (time.step ?? 0) * 1e18) / (flops.forward + flops.backward)),
    before: 1010,
    after: 1010,
  },
  {
    option: 'accumulate',
    given: '3',
    setting: ['accumulate', 3],
    of: ({ totals }) => totals.flops.forward,
    before: 2 * 128 * 512 * 512 * 3,
    after: 3 * 2 * 128 * 512 * 512 * 3,
  },
  {
    option: 'dim',
    given: 'S=64',
    setting: ['dimensions', { S: 64 }],
    of: ({ scenario: { dimensions } }) => dimensions.S,
    before: 128,
    after: 64,
  },
  {
    option: 'precision',
    given: 'fp32',
    setting: ['precision', 'fp32'],
    of: scenario('precision'),
    before: 'bf16',
    after: 'fp32',
  },
  {
    option: 'optimizer',
    given: 'sgd',
    setting: ['optimizer', 'sgd'],
    of: ({ totals }) => totals.memory.optimizerState,
    before: 2 * 4 * 786_432,
    after: 0,
  },
  {
    option: 'framework',
    given: 'mxnet,kvstore=local',
    setting: ['framework', 'mxnet,kvstore=local'],
    of: ({ scenario: { framework, frameworkOptions } }) => [framework, frameworkOptions],
    before: ['pytorch-ddp', undefined],
    after: ['mxnet', { kvstore: 'local' }],
  },
  {
    option: 'mode',
    given: 'inference',
    setting: ['mode', 'inference'],
    of: ({ totals }) => totals.flops.backward,
    before: 335_544_320,
    after: 0,
  },
  // Of a decode step the model has none; in training the option is named as one without effect.
  {
    option: 'past',
    given: '100',
    setting: ['past', 100],
    of: ({ findings: all }) => all.some(({ message }) => message.startsWith('`past` has no effect')),
    before: false,
    after: true,
  },
  {
    option: 'checkpoint',
    given: 'block',
    setting: ['checkpoint', 'block'],
    of: scenario('checkpoint'),
    before: undefined,
    after: 'block',
  },
  shared('tp=2', 'tensor', 2),
  shared('tp=2,sp=on', 'sequence', true),
  shared('tp=2,gathered=again', 'gathered', 'again'),
  shared('tp=2,cp=1', 'context', 1),
  shared('tp=2,cp-comm=ring', 'contextExchange', 'ring'),
  shared('tp=2,ep=1', 'expert', 1),
  shared('tp=2,expert-imbalance=1', 'expertImbalance', 1),
  shared('tp=2,pp=1', 'pipeline', 1),
  shared('tp=2,vp=1', 'chunks', 1),
  shared('tp=2,schedule=gpipe', 'schedule', 'gpipe'),
  shared('tp=2,stages=uniform', 'stages', 'uniform'),
  {
    option: 'parallel',
    given: 'tp=2,micro-batch=1',
    setting: ['parallel', settingOf('tp=2,micro-batch=1')],
    // Passes follow from it where the batch is that of all GPUs.
    of: (report) => report.findings.some(({ message }) => message.includes('`micro-batch` has no effect')),
    before: false,
    after: true,
  },
  {
    option: 'loss',
    given: 'none',
    setting: ['loss', 'none'],
    of: scenario('loss'),
    before: undefined,
    after: 'none',
  },
  {
    option: 'freeze',
    given: '*',
    setting: ['freeze', ['*']],
    of: scenario('freeze'),
    before: undefined,
    after: ['*'],
  },
  // Two of three linear layers: the last one is the head.
  {
    option: 'lora',
    given: 'rank=4',
    setting: ['lora', { rank: 4 }],
    of: ({ model: { parameters } }) => parameters,
    before: 3 * 512 * 512,
    after: 2 * 2 * 4 * 512,
  },
  {
    option: 'lora',
    given: 'rank=4,layers=fc',
    setting: ['lora', { rank: 4, layers: 'fc' }],
    beside: [['--lora', '4'], { lora: { rank: 4 } }],
    of: ({ model: { parameters } }) => parameters,
    before: 2 * 2 * 4 * 512,
    after: 3 * 2 * 4 * 512,
  },
  {
    option: 'lora',
    given: 'rank=4,dropout=0.1',
    setting: ['lora', { rank: 4, dropout: 0.1 }],
    of: scenario('lora'),
    before: undefined,
    after: { rank: 4, dropout: 0.1 },
  },
  {
    option: 'lora',
    given: 'rank=4,base=nf4',
    setting: ['lora', { rank: 4, base: 'nf4' }],
    of: scenario('lora'),
    before: undefined,
    after: { rank: 4, base: 'nf4' },
  },
  {
    option: 'threshold',
    given: 'launch-bound=0.99',
    setting: ['findings.thresholds', { 'launch-bound': 0.99 }],
    of: has('launch-bound'),
    before: true,
    after: false,
  },
  {
    option: 'measured-step',
    given: '0.01',
    // What one GPU computes; several wait for the slowest.
    cluster: 'a100-sxm-80gb',
    of: ({ totals: { time } }) =>
      threeDigits((time.forward ?? 0) + (time.backward ?? 0) + (time.update ?? 0)) === 0.01,
    before: false,
    after: true,
  },
  {
    option: 'layer-trace',
    given: trace,
    of: ({ totals }) => totals.time.waitingForHost === null,
    before: false,
    after: true,
  },
  {
    option: 'input',
    given: 'sample-bytes=200000,read-gbs=1',
    setting: ['input', { 'sample-bytes': 200_000, 'read-gbs': 1 }],
    beside: [['--input', `${images},read-gbs=1`], {}],
    // Of 8 samples.
    of: ({ totals }) => threeDigits(totals.input?.storage),
    before: 0.0008,
    after: 0.0016,
  },
  // 112 cores decode 8 samples.
  member('input', 'decode-rate', 500, ({ totals }) => totals.input?.decoding, null, 8 / (112 * 500)),
  member('input', 'read-gbs', 1, ({ totals }) => totals.input?.storage, null, 0.0008),
  // Blue Waters has a shared file system, and no local disk that is described.
  {
    ...member('input', 'source', 'local', ({ totals }) => totals.input?.unknown.length, 0, 1),
    cluster: 'blue-waters-xk',
  },
  member('workers', 'imbalance', 1.2, ({ totals }) => totals.imbalance?.factor, undefined, 1.2),
  member('workers', 'straggler', 1.5, ({ totals }) => totals.imbalance?.factor, undefined, 1.5),
  member('workers', 'spread', 0.1, ({ totals }) => threeDigits(totals.imbalance?.factor), Number.NaN, 1.14),
  member('workers', 'other-gpu', 'a100-sxm-80gb', ({ totals }) => totals.mixed?.slower.count, undefined, 1),
  member('workers', 'other-count', 3, ({ totals }) => totals.mixed?.slower.count, 1, 3),
  member('run', 'samples', 1_000_000, ({ totals }) => totals.run?.steps, undefined, 125_000),
  member('run', 'epochs', 3, ({ totals }) => totals.run?.steps, 125_000, 375_000),
  member('run', 'start-seconds', 20, ({ totals }) => totals.run?.initialisation, null, 20),
  member('run', 'pue', 1.2, ({ totals }) => totals.run?.energy?.pue, 1.56, 1.2),
  member(
    'run',
    'price',
    2,
    ({ totals }) => threeDigits((totals.run?.price ?? 0) / (totals.run?.time ?? 0)),
    0,
    threeDigits((8 * 2) / 3600),
  ),
];

async function commandLine(...options: readonly string[]): Promise<string> {
  const dimension = options.includes('--dim') ? [] : ['--dim', 'S=128'];
  const read = readArguments(['report', file, ...dimension, ...options]);
  if (read.kind === 'wrong' || read.arguments.command !== 'report') throw new Error(JSON.stringify(read));
  let out = '';
  await runReportCommand(read.arguments, (_, text) => {
    out = text;
    return true;
  });
  return out;
}
const reportOf = async (...options: readonly string[]): Promise<Report> =>
  reportSchema.parse(JSON.parse(await commandLine(...options, '--format', 'json')));

test.each(rows)('--$option $given', async ({ option, given, beside, cluster, of, before, after }) => {
  const [others] = beside ?? [[]];
  const on = cluster === undefined ? [] : ['--cluster', cluster];
  const without = await reportOf(...on, ...others);
  expect([of(without), of(await reportOf(...on, `--${option}`, given))]).toEqual([before, after]);
});

let client: TestClient;
beforeAll(async () => {
  client = await startTestServer();
  await client.open(uri, 'onnx-text', model);
});
afterAll(() => client.stop());

/** An editor's settings have a value each, which its lens shows; and only the command line names its options. */
const withoutDefaults = (report: string): string =>
  report
    .split('\n')
    .filter((line) => !line.includes('`scenario/defaults`'))
    .join('\n')
    .replace('; set it with --batch N', '');

/** Keys with dots are nested, as an editor sends them. */
const sent = ([key, value]: readonly [string, unknown]): Record<string, unknown> =>
  key.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;

test.each(rows.filter(({ setting }) => setting !== undefined))(
  'the server with it as a setting: $setting',
  async ({ option, given, setting = ['', ''] }) => {
    await client.changeSettings({ dimensions: { S: 128 }, ...sent(setting) });
    const { text } = await client.connection.sendRequest<ReportResult>(makeReport, {
      uri,
      page: 'report',
      format: 'markdown',
    });
    expect(text).toBe(withoutDefaults(await commandLine(`--${option}`, given, '--format', 'markdown')));
    expect(text).not.toBe(withoutDefaults(await commandLine('--format', 'markdown')));
  },
);

test('no option of a scenario, setting of one, or member of a group is without a row', () => {
  const options = new Set(rows.map(({ option }) => option));
  expect(Object.keys(scenarioOptions).filter((name) => !options.has(name))).toEqual([]);
  const settings = new Set(rows.flatMap(({ setting }) => (setting === undefined ? [] : [setting[0]])));
  const declared = manifest.contributes.configuration.flatMap(({ properties }) => Object.keys(properties));
  const ofScenario = declared
    .map((key) => key.replace('layercost.', ''))
    .filter((key) => !/^((hints|trace|benchmark|export)\.|(models|heat)$)/.test(key));
  expect(ofScenario.filter((key) => !settings.has(key))).toEqual([]);
  const members = Object.entries(groupNames).flatMap(([group, names]) =>
    Object.keys(names).map((name) => [group, name] as const),
  );
  const covered = ([group, name]: readonly [string, string]): boolean =>
    rows.some(
      ({ option, given }) => option === group && given.split(',').some((part) => part.startsWith(`${name}=`)),
    );
  expect(members.filter((each) => !covered(each))).toEqual([]);
});
