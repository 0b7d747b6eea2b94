/** Which line gets which cost: two exports of `blocks.py`, by `writeModels.py`. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openModel } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { inlayHints } from '../../../server/src/language/inlayHints.ts';
import { lineCost } from '../../../server/src/language/lineCost.ts';
import { viewPython } from '../../../server/src/language/python/viewPython.ts';

const source = readFileSync(new URL('blocks.py', import.meta.url), 'utf8');
const estimateOf = (name: string) => {
  const bytes = new Uint8Array(readFileSync(new URL(name, import.meta.url)));
  return estimateModel(openModel(byteSourceOfBuffer(bytes), name), [
    { batch: 4, cluster: 'dgx-a100', gpus: 1 },
  ]);
};
const estimates = { 'blocks.pt2': estimateOf('blocks.pt2'), 'blocks.onnx': estimateOf('blocks.onnx') };
const here = '/home/someone/project/blocks.py';

/** FLOPs of forward by the text of the line; a product of 4 rows is 2 · 4 · 64 · 64, and the head is 2 · 4 · 64 · 10. */
function costs(text: string, path: string, name: keyof typeof estimates): Readonly<Record<string, number>> {
  const view = viewPython(text, path, estimates[name]);
  return Object.fromEntries(
    (view?.rows ?? []).map((row) => [`${row.line + 1} ${row.name}`, lineCost(row).flops.forward]),
  );
}

const block = 3 * 2 * 4 * 64 * 64;
const head = 2 * 4 * 64 * 10;

describe.each(['blocks.pt2', 'blocks.onnx'] as const)('%s', (name) => {
  test('each line has the sum of its calls, each function and class that of its lines', () => {
    expect(costs(source, here, name)).toEqual({
      '4 Block': block,
      '9 forward': block,
      '10 return torch.relu(self.fc(x))': block,
      '13 Model': head,
      '19 forward': head,
      '22 x = x + 1': 0,
      '23 return self.head(x)': head,
    });
  });

  test('all that the model costs stands on some line', () => {
    const view = viewPython(source, here, estimates[name]);
    const shown = (view?.rows ?? []).filter(({ group }) => !group).map((row) => lineCost(row).time);
    const total = shown.reduce((sum, time) => sum + time.forward + time.backward, 0);
    const layers = estimates[name].cost?.layers ?? [];
    const expected = layers.reduce((sum, { time }) => sum + (time.forward ?? 0) + (time.backward ?? 0), 0);
    expect(total).toBeCloseTo(expected, 9);
  });

  /** Eight products of 2 · 4 · 64 · 64: the first block needs no gradient of its input. Six modules: a block and its layer. */
  test('hints say the sum, and of how many', () => {
    const view = viewPython(source, here, estimates[name]);
    const hints = view === undefined ? [] : inlayHints(view, 9, 9);
    expect(hints.map(({ text }) => text)).toEqual([expect.stringMatching(/^262 kFLOP · .* · sum of 6$/)]);
  });

  test.each([
    ['another folder', source, '/tmp/elsewhere/blocks.py', '10 return torch.relu(self.fc(x))'],
    ['lines above it', `# one\n# two\n${source}`, here, '12 return torch.relu(self.fc(x))'],
    [
      'another line gone',
      source.replace('        x = x + 1\n', ''),
      here,
      '10 return torch.relu(self.fc(x))',
    ],
  ])('a file with %s is matched by what its lines say', (_, text, path, line) => {
    expect(costs(text, path, name)[line]).toBe(block);
  });

  test('a line that changed has no cost, and its neighbours keep theirs', () => {
    const edited = costs(source.replace('self.head(x)', 'self.head(x.relu())'), here, name);
    expect(Object.keys(edited)).not.toContain('23 return self.head(x.relu())');
    expect(edited['10 return torch.relu(self.fc(x))']).toBe(block);
  });

  test.each([
    ['of another name', source, '/home/someone/project/other.py'],
    ['of the same name that says something else', 'import os\nprint(os.name)\n', here],
  ])('a file %s has no costs', (_, text, path) => {
    expect(viewPython(text, path, estimates[name])).toBeUndefined();
  });
});

test('a file of a library has the costs of its own lines', () => {
  const line = 134;
  const text = `${'\n'.repeat(line - 1)}        return F.linear(input, self.weight, self.bias)\n`;
  const path = '/usr/lib/python3/dist-packages/torch/nn/modules/linear.py';
  expect(costs(text, path, 'blocks.pt2')).toEqual({
    [`${line} return F.linear(input, self.weight, self.bias)`]: block + head,
  });
});

describe('cells of a notebook', () => {
  const [first = '', second = ''] = source.split(/\n\n\n(?=class Model)/);
  const notebook = '/home/someone/project/model.ipynb';
  const cells = estimateOf('cells.pt2');
  const costsOf = (text: string) =>
    Object.fromEntries(
      (viewPython(text, notebook, cells)?.rows ?? []).map((row) => [row.name, lineCost(row).flops.forward]),
    );

  test.each([
    [
      'the cell of the block',
      first,
      { Block: block, forward: block, 'return torch.relu(self.fc(x))': block },
    ],
    ['the same after an edit', `# edited\n${first}`, { 'return torch.relu(self.fc(x))': block }],
    [
      'the cell of the model',
      second,
      { Model: head, forward: head, 'return self.head(x)': head, 'x = x + 1': 0 },
    ],
  ])('%s has what its own lines cost', (_, text, expected) => {
    expect(costsOf(text)).toMatchObject(expected);
  });

  test('another cell, and a file, have nothing', () => {
    expect(costsOf('model = Model()\nprint(model)')).toEqual({});
    expect(viewPython(first, here, cells)).toBeUndefined();
  });
});
