/** The tools for agents, asked by a client of the protocol's own library. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readGivenScenario, scenarioSchema } from '../../../server/src/cli/mcp/scenarioSchema.ts';
import { serveTools } from '../../../server/src/cli/mcp/serveTools.ts';
import { tools } from '../../../server/src/cli/mcp/tools.ts';
import { scenarioOptions } from '../../../server/src/cli/scenarioArguments.ts';

const root = resolve(import.meta.dirname, '../../..');
const sample = (name: string): string => join(root, 'samples', name);
const folder = mkdtempSync(join(tmpdir(), 'layercost-mcp-'));
const client = new Client({ name: 'test', version: '1.0.0' });

beforeAll(async () => {
  const [near, far] = InMemoryTransport.createLinkedPair();
  serveTools(tools, '1.2.3', far);
  await client.connect(near);
});
afterAll(async () => {
  await client.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What a tool answers: its text, or `wrong: ` and why there is none. */
async function ask(
  name: string,
  given: Readonly<Record<string, unknown>>,
  asked: Client = client,
): Promise<string> {
  const { content, isError } = await asked.callTool({ name, arguments: given });
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return isError ? `wrong: ${text}` : text;
}

const small = join(folder, 'small.layers.yaml');
writeFileSync(
  small,
  'inputs:\n  x: float32[batch, 64]\nlayers:\n  - fc: Linear(64, 32)\nscenario: { cluster: rtx-4090, precision: fp32, batch: 16 }\n',
);

it('says what it is, and lists tools that read only', async () => {
  expect(client.getServerVersion()).toMatchObject({ name: 'layercost', version: '1.2.3' });
  const listed = await client.listTools();
  expect(listed.tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
  for (const { annotations, description, inputSchema } of listed.tools) {
    expect(annotations).toMatchObject({ readOnlyHint: true, openWorldHint: false });
    expect(description?.length).toBeGreaterThan(40);
    expect(inputSchema.type).toBe('object');
  }
});

it('takes the scenario options of the command line, all and no others', () => {
  expect(Object.keys(scenarioSchema.shape).toSorted()).toEqual(Object.keys(scenarioOptions).toSorted());
});

it('reads a scenario as the command line does', () => {
  expect(
    readGivenScenario({
      cluster: 'dgx-a100',
      gpus: 16,
      batch: 4,
      dim: { seq: 128, __proto__: 2 },
      framework: 'pytorch-ddp,bucket-mb=50',
      freeze: ['encoder.*', '!encoder.head'],
      run: { samples: 1000, epochs: 2 },
    }).request,
  ).toEqual({
    cluster: 'dgx-a100',
    gpus: 16,
    batch: 4,
    dimensions: { seq: 128 },
    framework: { name: 'pytorch-ddp', options: { 'bucket-mb': '50' } },
    freeze: ['encoder.*', '!encoder.head'],
    run: { samples: 1000, epochs: 2 },
  });
});

it('estimates: totals with their range, and as many layers as asked for', async () => {
  const given = {
    file: sample('resnet50.onnx'),
    scenario: { cluster: 'dgx-a100', gpus: 16, batch: 64 },
    top: 3,
  };
  const text = await ask('estimate', given);
  expect(text).toMatch(/^resnet50 \(onnx\): 25,557,032 parameters/);
  expect(text).toMatch(/step time +[\d.]+ ms +[\d.]+ ms to [\d.]+ ms/);
  expect(text).toMatch(/the 3 most expensive of \d+ layers/);
  expect(await ask('estimate', given)).toBe(text);
  expect(await ask('estimate', { ...given, top: 0 })).not.toMatch(/most expensive/);
  // What fits into the window of an agent beside other things.
  expect((await ask('estimate', { file: sample('gpt2.onnx') })).length).toBeLessThan(6_000);
});

it('takes what is not given from the file', async () => {
  expect(await ask('estimate', { file: small })).toMatch(/rtx-4090: .*batch 16 .*fp32/);
});

it.each([
  ['no file', { file: 'none.onnx' }, /wrong: none\.onnx: file\/unreadable: .*no such file/],
  [
    'an unknown cluster',
    { file: small, scenario: { cluster: 'dgx-a10' } },
    /wrong: .*scenario\/unknown-cluster: .*did you mean `dgx-a100`/,
  ],
  ['an unknown key', { file: small, scenario: { gpu: 4 } }, /wrong: .*Unrecognized key.*gpu/],
  ['a wrong type', { file: small, scenario: { gpus: 'many' } }, /wrong: .*gpus/],
  [
    'two batches',
    { file: small, scenario: { batch: 4, 'global-batch': 64 } },
    /wrong: --batch is per GPU and --global-batch over all GPUs/,
  ],
  [
    'a profile that is not there',
    { file: small, scenario: { cluster: './mine.json' } },
    /wrong: \.\/mine\.json: file\/unreadable: /,
  ],
])('says what is wrong: %s', async (_, given, pattern) => {
  expect(await ask('estimate', given)).toMatch(pattern);
});

it('compares', async () => {
  const side = (cluster: string) => ({ file: sample('resnet50.onnx'), scenario: { cluster, batch: 64 } });
  const text = await ask('compare', { left: side('dgx-a100'), right: side('dgx-h100') });
  expect(text).toMatch(/^step +[\d.]+ ms +[\d.]+ ms +0\.\d+×$/m);
  expect(text).toMatch(/Layers that differ most/);
  expect(await ask('compare', { left: side('dgx-a100'), right: side('none') })).toMatch(/^wrong: right: /);
});

it('scales', async () => {
  const text = await ask('scale', {
    file: sample('vgg16.onnx'),
    scenario: { cluster: 'dgx-a100', batch: 32 },
    gpus: [1, 8, 64],
  });
  expect(text.match(/^ +(1|8|64) /gm)?.length).toBe(3);
});

it('plans a layout, and says what is wrong with what was asked', async () => {
  const given = {
    file: sample('gpt2.onnx'),
    gpus: 4,
    samples: 16,
    scenario: { cluster: 'dgx-a100', framework: 'pytorch-ddp', checkpoint: 'none' },
    top: 2,
  };
  const text = await ask('plan', given);
  expect(text).toMatch(/^4 GPUs, 16 samples of 1,024 tokens a step: \d+ layouts costed/);
  expect(text.match(/^[12] /gm)).toHaveLength(2);
  expect(text).toContain('Megatron-LM');
  expect(await ask('plan', { ...given, scenario: { mode: 'inference' } })).toMatch(/^wrong: .*for training/);
});

it('offers fixes whose scenario, given back, does what they say', async () => {
  const given = { file: sample('gpt2.onnx'), scenario: { cluster: 'v100-sxm2-16gb', batch: 64 } };
  expect(await ask('estimate', given)).toMatch(/findings\/out-of-memory/);
  const fixes = await ask('fix', { ...given, code: 'out-of-memory' });
  const scenarios = [...fixes.matchAll(/^ {2}scenario: (.*)$/gm)].map(([, text = '']) => JSON.parse(text));
  expect(scenarios.length).toBeGreaterThan(0);
  for (const scenario of scenarios)
    expect(await ask('estimate', { ...given, scenario })).not.toMatch(/findings\/out-of-memory/);
  expect(await ask('fix', { file: small, code: 'out-of-memory' })).toBe(
    'The step has no finding out-of-memory.',
  );
});

it('explains a finding', async () => {
  const text = await ask('explain', { code: 'late-gradient' });
  expect(text).toMatch(/^findings\/late-gradient: One very large gradient/);
  expect(await ask('explain', { code: 'late-gradien' })).toMatch(
    /^wrong: .*did you mean `findings\/late-gradient`/,
  );
});

it('lists clusters, and every number of one with its source', async () => {
  expect(await ask('clusters', {})).toMatch(/^dgx-a100 +8 × A100/m);
  expect(await ask('clusters', { name: 'dgx-a100' })).toMatch(/source/);
  expect(await ask('clusters', { name: 'dgx-a10' })).toMatch(/^wrong: .*did you mean/);
});

it('serves the same over standard input and output, with the pages of findings, and ends with its client', async () => {
  if (!existsSync(join(root, 'dist/mcp.js'))) spawnSync(process.execPath, ['esbuild.mjs'], { cwd: root });
  const shipped = new Client({ name: 'test', version: '1.0.0' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(root, 'dist/cli.js'), 'mcp'],
    stderr: 'pipe',
  });
  await shipped.connect(transport);
  try {
    expect(await ask('estimate', { file: small }, shipped)).toBe(await ask('estimate', { file: small }));
    expect(await ask('explain', { code: 'late-gradient' }, shipped)).toMatch(/What helps:/);
  } finally {
    await shipped.close();
  }
});
