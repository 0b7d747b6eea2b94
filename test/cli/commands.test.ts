/** The commands as a shell sees them: exit status, data on standard output, everything else on standard error. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { readArguments } from '../../server/src/cli/arguments.ts';
import { runClustersCommand } from '../../server/src/cli/clustersCommand.ts';
import { runCompareCommand } from '../../server/src/cli/compareCommand.ts';
import { runConvertCommand } from '../../server/src/cli/convertCommand.ts';
import { runReportCommand } from '../../server/src/cli/reportCommand.ts';
import { runScaleCommand } from '../../server/src/cli/scaleCommand.ts';
import { printData, printMessage } from '../../server/src/cli/streams.ts';
import { reportSchema } from '../../server/src/estimate/report/report.ts';

vi.mock('../../server/src/cli/streams.ts', () => ({ printData: vi.fn(), printMessage: vi.fn() }));

const samples = resolve(import.meta.dirname, '../../samples');
const folder = mkdtempSync(join(tmpdir(), 'layercost-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** Runs one command line; words are given apart, so that paths may hold blanks. */
async function run(...words: string[]): Promise<{ status: number; out: string; err: string }> {
  const result = readArguments(words);
  if (result.kind === 'wrong') return { status: 2, out: '', err: result.message };
  let out = '';
  let err = '';
  vi.mocked(printData).mockImplementation((text) => {
    out += text;
  });
  vi.mocked(printMessage).mockImplementation((line) => {
    err += `${line}
`;
  });
  const given = result.arguments;
  switch (given.command) {
    case 'report':
      return { status: await runReportCommand(given), out, err };
    case 'scale':
      return { status: await runScaleCommand(given), out, err };
    case 'compare':
      return { status: await runCompareCommand(given), out, err };
    case 'clusters':
      return { status: runClustersCommand(given), out, err };
    case 'convert':
      return { status: runConvertCommand(given), out, err };
    default:
      throw new Error(`no test runs ${given.command}`);
  }
}

const broken = written(
  'broken.layers.yaml',
  'inputs:\n  x: float32[batch, 64]\nlayers:\n  - fc: Linear(64, 32)\n  - oops: Linaer(32)\n',
);

const small = written(
  'small.layers.yaml',
  'inputs:\n  x: float32[batch, 64]\nlayers:\n  - fc: Linear(64, 32)\n',
);
const odd = written(
  'odd.layers.yaml',
  'inputs:\n  x: float32[batch, 64]\nlayers:\n  - fc: Linear(64, 32)\nscenario: { cluster: nowhere }\n',
);

describe('report', () => {
  it('prints short JSON by the same schema: totals alone, or with the most expensive layers', async () => {
    const short = async (...words: string[]) => {
      const model = join(samples, 'resnet50.onnx');
      const result = await run('report', model, '--gpus', '8', '--format', 'json', ...words);
      return { report: reportSchema.parse(JSON.parse(result.out)), length: result.out.length };
    };
    const whole = await short();
    const summary = await short('--summary');
    const top = await short('--top', '3');
    expect(summary.report.totals).toEqual(whole.report.totals);
    expect([summary.report.layers, summary.report.messages]).toEqual([[], undefined]);
    expect(top.report.layers.length).toBe(3);
    expect(summary.length).toBeLessThan(whole.length / 20);
  });

  it('prints JSON by its schema, and nothing else', async () => {
    const result = await run('report', join(samples, 'resnet50.onnx'), '--batch', '1', '--format', 'json');
    expect([result.status, result.err]).toEqual([0, '']);
    const report = reportSchema.parse(JSON.parse(result.out));
    expect(report.model.parameters).toBe(25_557_032);
    expect(report.totals.flops.forward / 1e9).toBeCloseTo(8.18, 2);
  });

  it.each([
    ['a file that is not there', 1, ['report', join(folder, 'none.onnx')], /there is no such file/],
    ['a file that is no model', 1, ['report', written('x.onnx', 'hello')], /error file\/not-a-model/],
    ['an empty file', 1, ['report', written('empty.onnx', '')], /error file\/empty/],
    ['a scenario of the model that is wrong', 1, ['report', odd], /nowhere/],
    ['a cluster that is not known', 2, ['report', small, '--cluster', 'nope'], /`nope`/],
    ['a framework that is not known', 2, ['report', small, '--framework', 'nope'], /`nope`/],
    ['an option that is not known', 2, ['report', small, '--colour'], /--colour/],
    [
      'a trace that is not there',
      1,
      ['report', small, '--layer-trace', join(folder, 't.csv')],
      /layer trace/,
    ],
  ])('refuses %s', async (_, status, words, message) => {
    const result = await run(...words);
    expect([result.status, result.out]).toEqual([status, '']);
    expect(result.err).toMatch(message);
  });

  it('lets the command line win over the scenario of a layer spec', async () => {
    const result = await run('report', odd, '--cluster', 'dgx-a100', '--format', 'json');
    expect(result.status).toBe(0);
    expect(JSON.parse(result.out).scenario.cluster).toBe('dgx-a100');
  });

  it('takes a cluster of the person’s own', async () => {
    const cluster = written('mine.json', JSON.stringify({ name: 'mine', gpu: 'rtx-3090', gpusPerNode: 1 }));
    const result = await run('report', small, '--cluster', cluster, '--format', 'json');
    expect([result.status, result.err]).toEqual([0, '']);
    expect(JSON.parse(result.out).scenario).toMatchObject({ cluster: 'mine', gpus: 1 });
  });

  it('puts use measured times instead of predictions', async () => {
    const trace = written('trace.csv', 'layer,forward_ms,backward_ms\nfc,2,3\n');
    const report = reportSchema.parse(
      JSON.parse((await run('report', small, '--layer-trace', trace, '--format', 'json')).out),
    );
    expect(report.layers[0]).toMatchObject({ time: { forward: 0.002, backward: 0.003 }, source: 'measured' });
  });
});

it('scales: one line for each number of GPUs', async () => {
  const result = await run('scale', small, '--gpus', '1,8,16', '--batch', '32');
  expect(result.status).toBe(0);
  expect(
    result.out
      .trimEnd()
      .split('\n')
      .map((line) => line.trim().split(/\s+/)[0]),
  ).toEqual(['GPUs', '1', '8', '16']);
});

it('scales: names what limits each point, and the price of a run', async () => {
  const options = [
    '--gpus',
    '1,64',
    '--batch',
    '4',
    '--cluster',
    'k80-10gbe',
    '--run',
    'samples=1e6,price=1',
  ];
  const { out } = await run('scale', join(samples, 'vgg16.onnx'), ...options);
  const [title, first, last] = out.trimEnd().split('\n');
  expect(title).toMatch(/efficiency +memory +run +price +limit$/);
  expect(first).toMatch(/100 % .* \$\d.* compute$/);
  expect(last).toMatch(/message bandwidth, \d\d % of the step$/);
});

it('compares two files of which one has a dimension, and warns of one that neither has', async () => {
  const longer = written(
    'longer.layers.yaml',
    'dims: { seq: 8 }\ninputs:\n  x: float32[batch, seq, 64]\nlayers:\n  - fc: Linear(64, 32)\n',
  );
  expect((await run('compare', small, longer, '--dim', 'seq=16')).err).not.toContain('dimension');
  expect((await run('compare', small, longer, '--dim', 'sq=16')).err).toContain('no symbolic dimension `sq`');
});

it('compares as a page without a script, which says what the table says', async () => {
  const options = ['--left', '--batch 4', '--right', '--batch 8'];
  const page = (await run('compare', small, ...options, '--format', 'html')).out;
  expect(page).not.toMatch(/<script|https?:| style=/);
  const text = page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  const table = (await run('compare', small, ...options)).out;
  for (const name of ['step', 'memory', 'throughput']) {
    const row = table.split('\n').find((line) => line.startsWith(name)) ?? 'none';
    expect(text).toContain(row.trim().replaceAll(/\s+/g, ' '));
  }
});

it('writes a comparison to the file that is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'layercost-compare-'));
  const file = join(folder, 'page.html');
  const options = ['--left', '--batch 4', '--right', '--batch 8', '--format', 'html'];
  const written = await run('compare', small, ...options, '--output', file);
  expect(written).toMatchObject({ status: 0, out: '' });
  expect(readFileSync(file, 'utf8')).toBe((await run('compare', small, ...options)).out);
  expect((await run('compare', small, ...options, '--output', folder)).status).toBe(1);
  rmSync(folder, { recursive: true });
});

it('scales: one curve for each value of a list, each as it is alone', async () => {
  const clusters = ['dgx-a100', 'k80-10gbe'];
  const scale = async (cluster: string, format: string) =>
    (await run('scale', small, '--gpus', '1,8', '--batch', '32', '--cluster', cluster, '--format', format))
      .out;
  const alone: unknown[] = [];
  for (const name of clusters) alone.push(JSON.parse(await scale(name, 'json')));
  const both = JSON.parse(await scale(clusters.join(), 'json'));
  expect(both).toEqual(clusters.map((cluster, index) => ({ scenario: { cluster }, points: alone[index] })));
  const [title, ...rows] = (await scale(clusters.join(), 'table')).trimEnd().split('\n');
  expect(title).toMatch(/^cluster +GPUs +nodes +step/);
  expect(rows.map((row) => row.split(/ +/, 2))).toEqual(
    clusters.flatMap((name) => ['1', '8'].map((gpus) => [name, gpus])),
  );
  expect(await scale(clusters.join(), 'csv')).toMatch(/^cluster,gpus,nodes,[^\n]*\r?\ndgx-a100,1,1,/);
  const page = await scale(clusters.join(), 'html');
  const [wide, narrow] = page.split('<svg class="chart narrow"');
  for (const drawing of [wide, narrow]) expect(drawing?.match(/class="curve curve-[01]"/g)).toHaveLength(6);
  expect(page).toContain('<title>k80-10gbe: 8 GPUs: ');
});

it('scales: says of each point whether it fits', async () => {
  const llama = join(samples, 'more', 'llama-3-8b.layers.yaml');
  const options = ['--gpus', '8,64', '--cluster', 'dgx-h100', '--precision', 'bf16', '--checkpoint', 'block'];
  const points = async (framework: string) =>
    JSON.parse((await run('scale', llama, ...options, '--framework', framework, '--format', 'json')).out);
  expect(await points('pytorch-ddp')).toMatchObject([{ fits: 'no' }, { fits: 'no' }]);
  const [few, many] = await points('pytorch-fsdp');
  expect([few.fits, many.fits]).toEqual(['yes', 'yes']);
  expect(many.memory).toBeLessThan(few.memory);
  const table = await run('scale', llama, ...options, '--framework', 'pytorch-ddp');
  expect(table.out.match(/out of memory/g)).toHaveLength(2);
});

it('scales: prints the points that can be costed, and why the others cannot', async () => {
  const { status, out, err } = await run(
    'scale',
    join(samples, 'vgg16.onnx'),
    ...['--cluster', 'k80-10gbe', '--gpus', '1,4,8', '--framework', 'pytorch-dp'],
  );
  expect(status).toBe(2);
  expect(out.trimEnd().split('\n')).toHaveLength(3);
  expect(err).toMatch(/`pytorch-dp` runs in one process, so on one node, not on 2/);
});

it('scales one batch over all GPUs: speed-up over one that takes it whole', async () => {
  const options = ['--gpus', '4,8', '--global-batch', '512', '--cluster', 'dgx-a100', '--format', 'json'];
  const points = JSON.parse((await run('scale', join(samples, 'resnet50.onnx'), ...options)).out);
  expect(points.map((point: { batchPerGpu: number }) => point.batchPerGpu)).toEqual([128, 64]);
  for (const { gpus, speedup, scalingEfficiency } of points) {
    expect(speedup).toBeCloseTo(gpus * scalingEfficiency, 9);
    expect(speedup).toBeGreaterThan(1);
    expect(speedup).toBeLessThanOrEqual(gpus);
  }
});

it('ends with 1 wherever a part of the model is left out', async () => {
  const cut = written(
    'cut.layers.yaml',
    'inputs:\n  x: float32[batch, 64]\nlayers:\n  - fc: Linear(64) * 1099511627776\n',
  );
  const report = await run('report', cut);
  expect([report.status, report.out]).toEqual([1, expect.stringMatching(/^step time +≥ /m)]);
  expect(report.out).toMatch(/part of the file: .*the model has more than 10000 layers/);
  const scaled = await run('scale', cut, '--gpus', '1,8');
  expect([scaled.status, scaled.out]).toEqual([1, expect.stringMatching(/^ +8 .*≥ .*≤ .*≥ /m)]);
  const compared = await run('compare', cut, small);
  expect([compared.status, compared.out]).toEqual([1, expect.stringMatching(/^parameters +≥ /m)]);
  expect((await run('compare', small, cut)).status).toBe(1);
});

it('compares the two forms of a sample', async () => {
  const [left, right] = ['alexnet.onnx', 'alexnet.layers.yaml'].map((name) => join(samples, name));
  const result = await run('compare', left ?? '', right ?? '', '--batch', '4', '--cluster', 'v100-sxm2-16gb');
  expect(result.status).toBe(0);
  expect(result.out).toMatch(/^forward FLOPs .* 1\.00×$/m);
});

it('compares a file with itself in a revision, also from a folder below, and leaves no work tree', async () => {
  const repository = join(folder, 'repository');
  mkdirSync(join(repository, 'models'), { recursive: true });
  const git = (...words: readonly string[]): string =>
    execFileSync('git', ['-C', repository, ...words], { encoding: 'utf8' });
  const file = join(repository, 'models/net.layers.yaml');
  const text = readFileSync(small, 'utf8');
  writeFileSync(file, text);
  git('init', '--quiet');
  git('add', '.');
  git('-c', 'user.name=someone', '-c', 'user.email=a@example.org', 'commit', '--quiet', '--message', 'one');
  writeFileSync(file, text.replace('Linear(64, 32)', 'Linear(64, 128)'));
  const { status, out } = await run('compare', file, '--base', 'HEAD', '--batch', '1');
  expect(status).toBe(0);
  // 64 · 32 + 32 and 64 · 128 + 128 parameters.
  expect(out).toMatch(/^parameters +2\.08 k +8\.32 k +4\.00×$/m);
  expect(out).toMatch(/^layer +type +HEAD +now +now − HEAD +parameters/m);
  expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  const wrong = await run('compare', file, '--base', 'nowhere');
  expect([wrong.status, wrong.out]).toEqual([2, '']);
  expect(wrong.err).toContain('--base nowhere: the repository has no revision nowhere');
});

it('lists clusters, and the source of every number of one', async () => {
  expect((await run('clusters')).out).toMatch(/^dgx-a100 /m);
  const { numbers } = JSON.parse((await run('clusters', 'dgx-1-v100', '--format', 'json')).out);
  for (const number of Object.values(numbers))
    expect(number).toMatchObject({ source: expect.stringMatching(/\S/) });
  expect(await run('clusters', 'nope')).toMatchObject({ status: 2, out: '' });
});

describe('convert', () => {
  const path = (name: string) => join(folder, name);

  it('writes the format that the output is named for, and says what it wrote', async () => {
    const result = await run('convert', small, '--output', path('small.onnx'));
    expect(result).toMatchObject({ status: 0, out: '' });
    expect(result.err).toMatch(
      /^\S*[\\/]small\.layers\.yaml: 2 weights written as zeros: the file has none\nwrote .*\n$/,
    );
    expect((await run('report', path('small.onnx'))).status).toBe(0);
  });

  it('writes the layer spec of the metadata of a GGUF file', async () => {
    const result = await run('convert', resolve('test/formats/gguf/models/qwen2.gguf'), '--to', 'layer-spec');
    expect(result.status).toBe(0);
    expect(result.out).toContain('name: "qwen2-of-a-test"');
    expect(result.out).toContain('- layers: decoder() * 2');
    expect(await run('convert', written('cut.gguf', 'GGUF'))).toMatchObject({ status: 1, out: '' });
  });

  it('prints ONNX text where no output is named', async () => {
    const result = await run('convert', small, '--dim', 'batch=3');
    expect(result.status).toBe(0);
    expect(result.out).toMatch(/^ {3}float\[3,64\] x$/m);
  });

  it('reads what a file beside the model says of its custom operators', async () => {
    const inner = join(folder, 'custom');
    mkdirSync(inner);
    const model = join(inner, 'model.onnxtxt');
    writeFileSync(
      model,
      `<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
g (float[N, 64] x) => (float[N, 64] y) { y = com.example.Mix <steps: int = 3> (x) }`,
    );
    const before = await run('report', model, '--format', 'json', '--cluster', 'dgx-a100', '--dim', 'N=4');
    expect(before.err).toContain('describe it in `custom-operators.layercost.yaml` beside the model');
    const file = join(inner, 'custom-operators.layercost.yaml');
    writeFileSync(
      file,
      'operators:\n  com.example.Mix: { inputs: { x: [B, D] }, attributes: { steps: 1 }, outputs: { y: [B, D] }, flops: 2*B*D*D*steps }\n',
    );
    const after = await run('report', model, '--format', 'json', '--cluster', 'dgx-a100', '--dim', 'N=4');
    expect(after.err).toBe('');
    const { totals } = reportSchema.parse(JSON.parse(after.out));
    expect([totals.exact, totals.flops.forward]).toEqual([true, 2 * 4 * 64 * 64 * 3]);
    writeFileSync(file, 'operators:\n  com.example.Mix: { flops: 1 }\n');
    const wrong = await run('report', model, '--cluster', 'dgx-a100', '--dim', 'N=4');
    expect(wrong.err).toContain('custom-operators.layercost.yaml: line 2');
    rmSync(inner, { recursive: true });
  });

  it('takes one model of several, and what a spec includes', async () => {
    written('parts.layers.yaml', 'blocks:\n  half(n):\n    - fc: Linear(n, n)\n');
    const spec = written(
      'two.layers.yaml',
      'include: parts.layers.yaml\nmodels:\n  a:\n    inputs:\n      x: float32[batch, 4]\n    layers:\n      - h: half(4)\n  b:\n    inputs:\n      z: float32[batch, 6]\n    layers:\n      - h: half(6)\n',
    );
    const result = await run('convert', `${spec}#b`);
    expect([result.status, result.out.match(/^ +float\[batch,\d\] \w+$/m)?.[0].trim()]).toEqual([
      0,
      'float[batch,6] z',
    ]);
  });

  it('names external weights after the output', async () => {
    const result = await run('convert', small, '--output', path('far.onnx'), '--weights', 'external');
    expect(result.err).toMatch(/2 weights refer to far\.onnx\.data \(8\.13 KiB\), which is yours to write/);
  });

  it('keeps what exists unless told otherwise, and the model always', async () => {
    const target = written('there.onnxtxt', 'mine');
    expect(await run('convert', small, '--output', target)).toMatchObject({ status: 1, out: '' });
    expect(readFileSync(target, 'utf8')).toBe('mine');
    expect((await run('convert', small, '--output', target, '--force')).status).toBe(0);
    expect(readFileSync(target, 'utf8')).toMatch(/^</);
    const itself = await run('convert', target, '--output', target, '--to', 'onnx', '--force');
    expect(itself).toMatchObject({
      status: 2,
      err: expect.stringMatching(/is the input model; give another file/),
    });
  });

  it.each([
    ['a name that says nothing', 2, ['--output', path('x.bin')], /has no known format/],
    ['a format that is none', 2, ['--to', 'json'], /--to json is not known; it takes onnx, onnx-text/],
    [
      'a folder that is not there',
      1,
      ['--output', path('no/x.onnx')],
      /cannot write .*the folder does not exist; create it first/,
    ],
    ['weights that are none', 2, ['--weights', 'random'], /it takes zeros, external, elided/],
  ])('refuses %s', async (_, status, words, message) => {
    const result = await run('convert', small, ...words);
    expect([result.status, result.out]).toEqual([status, '']);
    expect(result.err).toMatch(message);
  });
});

it('says where the scenario of a spec is wrong, and not where the command line is', async () => {
  const spec = 'inputs:\n  x: float32[2, 8]\nlayers:\n  - a: Linear(8, 8)\nscenario:\n  cluster: dgx-h10\n';
  const file = written('misspelt.layers.yaml', spec);
  expect((await run('report', file)).err).toContain(
    'scenario/unknown-cluster: line 6, column 12: No cluster or GPU is called `dgx-h10` (did you mean `dgx-h100`?)',
  );
  expect((await run('report', file, '--cluster', 'dgx-h10')).err).toContain(
    'scenario/unknown-cluster: No cluster',
  );
});

it('reports what can be costed of a spec with an error, and says by its status that a part is missing', async () => {
  const { status, out } = await run('report', broken, '--format', 'json');
  const report = reportSchema.parse(JSON.parse(out));
  expect([status, report.totals.exact]).toEqual([1, false]);
  expect(report.layers.find(({ name }) => name === 'fc')?.flops.forward).toBe(2 * 64 * 32);
});

describe('a model of which a part is not understood', () => {
  const file = written(
    'torn.layers.yaml',
    'inputs:\n  x: float32[2, 64]\nlayers:\n  - fc: Linear(64, 32)\n  - odd: Linaer(32)\n  - drop: Dropout2d(0.5)\n  - last: Linear(32, 8)\n',
  );
  const table = async (): Promise<string> => (await run('report', file)).out;

  it('has at least the parameters that are seen, and no time of 0 for a layer of which only the weights are', async () => {
    const out = await table();
    expect(out).toMatch(/^torn\.layers\.yaml \(layer-spec\): ≥ [\d,]+ parameters/);
    expect(out).toMatch(/^last +Linear +\? +264 +\? +\? +\? /m);
    expect(out).toMatch(/^FLOPs +≥ .* forward ≥ .*, backward ≥ /m);
  });

  it('names the layer at fault wherever something is left out for it', async () => {
    const reason = '`Linaer` is not understood here, see the messages about it';
    expect((await table()).match(/^ {2}\S+.*: .*$/gm)).toEqual([
      `  odd/Linaer: ${reason}`,
      `  drop/Dropout2d, last/MatMul, last/Add: unknown since \`odd\`: ${reason}`,
    ]);
  });

  it('is told on standard error where the format has no place for it', async () => {
    const { out, err } = await run('report', file, '--format', 'csv');
    expect(err).toMatch(/error spec\/unknown-layer/);
    expect(out).toMatch(/^last,Linear,,[^,]*,264,,,.*,false\r$/m);
  });

  it('bounds the throughput from above in a curve and a comparison', async () => {
    expect((await run('scale', file, '--gpus', '1')).out).toMatch(/ ≥ .* ≤ [\d,]+ samples\/s/);
    const compared = await run('compare', file, small);
    expect(compared.out).toMatch(/^throughput +≤ /m);
    expect(compared.err).toMatch(/torn\.layers\.yaml: error spec\/unknown-layer/);
  });
});
