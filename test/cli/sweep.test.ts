/** `layercost sweep` and `report --summary`: what is read, refused and printed. */

import { expect, test, vi } from 'vitest';
import { readArguments } from '../../server/src/cli/arguments.ts';
import { runReportCommand } from '../../server/src/cli/reportCommand.ts';
import { printData, printMessage } from '../../server/src/cli/streams.ts';
import { runSweepCommand } from '../../server/src/cli/sweepCommand.ts';

vi.mock('../../server/src/cli/streams.ts', () => ({ printData: vi.fn(), printMessage: vi.fn() }));

async function printed(line: string): Promise<string> {
  const read = readArguments(line.split(' '));
  if (read.kind === 'wrong') return read.message;
  let out = '';
  vi.mocked(printData).mockImplementation((text) => {
    out += text;
  });
  const { arguments: given } = read;
  if (given.command === 'sweep') await runSweepCommand(given);
  if (given.command === 'report') await runReportCommand(given);
  return out;
}

const llama = 'samples/more/llama-3-8b.layers.yaml --cluster dgx-a100 --gpus 8 --framework pytorch-fsdp';

test('every combination is a row, in the order of the options, and says whether it fits', async () => {
  const table = await printed(`sweep ${llama} --batch 1,2 --checkpoint none,selective,block`);
  const rows = table.trimEnd().split('\n');
  expect(
    rows.map((row) =>
      row
        .trim()
        .split(/\s{2,}/)
        .slice(0, 2),
    ),
  ).toEqual([
    ['batch', 'checkpoint'],
    ['1', 'none'],
    ['1', 'selective'],
    ['1', 'block'],
    ['2', 'none'],
    ['2', 'selective'],
    ['2', 'block'],
  ]);
  expect(rows.slice(1).map((row) => /(fits|may not fit|out of memory)$/.exec(row)?.[1])).toEqual([
    'fits',
    'fits',
    'fits',
    'out of memory',
    'out of memory',
    'fits',
  ]);
});

test('a row has the numbers of the report', async () => {
  const [row] = JSON.parse(await printed(`sweep ${llama} --batch 2,4 --checkpoint block,none --format json`));
  const { totals } = JSON.parse(await printed(`report ${llama} --batch 2 --checkpoint block --format json`));
  expect(row).toEqual({
    batch: 2,
    checkpoint: 'block',
    step: totals.time.step,
    throughput: totals.throughput,
    tokens: totals.tokenThroughput,
    exposed: totals.time.exposedCommunication,
    mfu: totals.mfu,
    memory: totals.memory.needed,
    capacity: totals.memory.capacity,
    fits: 'yes',
    exact: true,
  });
  expect(row.tokens).toBe(8192 * row.throughput);
});

const firstCells = (table: string): readonly string[] =>
  table
    .trimEnd()
    .split('\n')
    .map((row) => row.trim().split(/\s{2,}/)[0] ?? '');

test('frameworks with their options are listed', async () => {
  const line = 'sweep samples/mobilenet_v2.layers.yaml --gpus 2 --framework';
  expect(firstCells(await printed(`${line} horovod,pytorch-ddp,bucket-mb=50,compile,pytorch-fsdp`))).toEqual([
    'framework',
    'horovod',
    'pytorch-ddp,bucket-mb=50,compile',
    'pytorch-fsdp',
  ]);
});

test('values of a dimension are listed', async () => {
  const csv = await printed('sweep samples/gpt2.layers.yaml --dim seq=256,512 --batch 2 --format csv');
  expect(csv.split('\r\n').map((line) => line.split(',')[0])).toEqual(['dim_seq', '256', '512', '']);
  const json = JSON.parse(
    await printed('sweep samples/gpt2.layers.yaml --dim seq=256,512 --batch 2 --format json'),
  );
  const one = JSON.parse(
    await printed('report samples/gpt2.layers.yaml --dim seq=512 --batch 2 --format json'),
  );
  expect(json[1]).toMatchObject({ 'dim-seq': 512, step: one.totals.time.step });
});

test('an option without effect is named once; one that has an effect in some row is not', async () => {
  const said = async (line: string): Promise<readonly string[]> => {
    vi.mocked(printMessage).mockClear();
    await printed(`sweep samples/mobilenet_v2.layers.yaml --gpus 1 ${line}`);
    return vi
      .mocked(printMessage)
      .mock.calls.map(([text]) => String(text))
      .filter((text) => text.includes('no-effect'));
  };
  expect(await said('--batch 1,2 --mode inference --accumulate 4')).toHaveLength(1);
  expect(await said('--mode inference,training --optimizer sgd')).toEqual([]);
});

test('csv has a column for each option', async () => {
  const csv = await printed(
    'sweep samples/mobilenet_v2.layers.yaml --global-batch 64,128 --gpus 1 --format csv',
  );
  expect(csv.split('\r\n').map((line) => line.split(',')[0])).toEqual(['global_batch', '64', '128', '']);
});

test.each([
  ['sweep m.onnx --batch 1,8 --measured-step 0.3', /a list of --batch cannot be costed with it/],
  [
    'sweep m.onnx --precision fp32,bf16 --layer-trace t.csv',
    /a list of --precision cannot be costed with it/,
  ],
  ['sweep m.onnx --dim seq=1,2 --measured-step 0.3', /a list of --dim seq cannot be costed with it/],
  [
    'sweep m.onnx --gpus 1,2 --global-batch 8 --measured-step 0.3',
    /a list of --gpus cannot be costed with it/,
  ],
  ['sweep m.onnx --batch 4', /needs an option with several values, such as --batch 1,2,4,8/],
  ['sweep m.onnx --batch 1,x', /--batch x is not a whole number/],
  ['sweep --batch 1,2', /layercost sweep needs a model file/],
  [
    `sweep m.onnx --batch ${Array.from({ length: 201 }, (_, index) => index + 1)}`,
    /201 combinations; at most 200/,
  ],
  ['report m.onnx --summary --format csv', /--summary is for the table and JSON/],
  ['report m.onnx --top 3 --format csv', /--top is for the layers of the table and of JSON/],
])('refuses %s', async (line, message) => {
  expect(await printed(line)).toMatch(message);
});

test('a summary is the table without layers', async () => {
  const whole = await printed('report samples/mobilenet_v2.layers.yaml');
  const summary = await printed('report samples/mobilenet_v2.layers.yaml --summary');
  expect(summary).not.toContain('layer  ');
  const lines = summary
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '');
  expect(lines.filter((line) => !whole.includes(line))).toEqual([]);
  expect(lines.some((line) => line.startsWith('step time'))).toBe(true);
});
