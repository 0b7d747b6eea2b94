/** Binary models by address: what is opened again, what is kept, and what is said of a file that cannot be read. */

import { describe, expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { onnxFiles } from '../../server/src/lsp/onnxFiles.ts';
import type { FileOpening, Platform } from '../../server/src/lsp/platform.ts';
import type { Issue } from '../../server/src/model/issue.ts';
import { encodeModel } from '../support/onnxBytes.ts';

const model = encodeModel({
  graph: {
    inputs: { x: 'float[N,8]' },
    outputs: { y: 'float[N,8]' },
    initializers: [{ name: 'w', type: 'float[8,8]' }],
    nodes: [
      { type: 'MatMul', inputs: ['x', 'w'], outputs: ['p'] },
      { type: 'Dropout', inputs: ['p'], outputs: ['y', ''] },
    ],
  },
});

const issue = (message: string): Issue => ({ code: 'file/unreadable', severity: 'error', message });

interface Asked {
  readonly bytes?: Uint8Array;
  readonly spoiled?: () => Issue | undefined;
  /** In the place of an open file. */
  readonly instead?: () => FileOpening | undefined;
  readonly platform?: Partial<Platform>;
}

/** The files, and what was read and closed, in order. */
function opening({ bytes = model, spoiled, instead, platform }: Asked = {}) {
  const happened: string[] = [];
  const files = onnxFiles(
    async (uri) => {
      happened.push(`read ${uri}`);
      return (
        instead?.() ?? {
          kind: 'open',
          source: byteSourceOfBuffer(bytes),
          ...(spoiled && { spoiled }),
          close: () => happened.push(`close ${uri}`),
        }
      );
    },
    { bytesEncoding: 'base64', openFile: () => undefined, ...platform },
    async () => undefined,
  );
  return { files, happened };
}

const uri = (name: string | number): string => `file:///models/${name}.onnx`;
const readOnce = [`read ${uri('a')}`, `close ${uri('a')}`];

describe('a file', () => {
  test('is read once, closed, and read again when it was forgotten', async () => {
    const { files, happened } = opening();
    const first = files.open(uri('a'));
    expect(files.open(uri('a'))).toBe(first);
    await first;
    files.forget(uri('a'));
    expect(files.open(uri('a'))).not.toBe(first);
    await files.open(uri('a'));
    expect(happened).toEqual([...readOnce, ...readOnce]);
  });

  test('is forgotten when eight others were opened since', async () => {
    const { files } = opening();
    const first = files.open(uri(0));
    for (let index = 1; index < 8; index += 1) await files.open(uri(index));
    expect(files.open(uri(0))).toBe(first);
    await files.open(uri(8));
    expect(files.open(uri(0))).not.toBe(first);
  });

  test('whose reading broke is tried again', async () => {
    let isBroken = true;
    const { files } = opening({
      instead: () => {
        if (isBroken) throw new Error('no answer');
        return undefined;
      },
    });
    await expect(files.open(uri('a'))).rejects.toThrow('no answer');
    isBroken = false;
    expect((await files.open(uri('a'))).text).toContain('MatMul');
  });
});

describe('a text', () => {
  test('says why a file cannot be read, in the layers too', async () => {
    const failed = issue('cannot read a.onnx: it is gone');
    const { files } = opening({ instead: () => ({ kind: 'failed', issue: failed }) });
    const file = await files.open(uri('a'));
    expect(file.text).toBe('# a.onnx cannot be shown\n# cannot read a.onnx: it is gone\n');
    expect(file.layers()).toEqual({ text: file.text, lines: [], problems: [], operatorOf: new Map() });
    expect(file.opened.issues).toEqual([failed]);
  });

  test('of a file that changed while it was read shows nothing of what was read', async () => {
    const { files, happened } = opening({ spoiled: () => issue('a.onnx changed') });
    expect((await files.open(uri('a'))).text).toBe('# a.onnx cannot be shown\n# a.onnx changed\n');
    expect(happened).toEqual(readOnce);
  });

  test('of a file that stayed shows it', async () => {
    const { files } = opening({ spoiled: () => undefined });
    expect((await files.open(uri('a'))).text).toContain('p = MatMul (x, w)');
  });

  test.each([
    ['of bytes that are no model says so', 'no model'],
    ['of formulas that break off too', '<ir_version: 9, opset_import: ["" : 20]>\ng (float[N] x) => (fl'],
  ])('%s, at no place of what is not shown', async (_, written) => {
    const { files, happened } = opening({ bytes: new TextEncoder().encode(written) });
    const { text, opened } = await files.open(uri('a'));
    expect(text).toMatch(/^# a\.onnx cannot be shown\n(# .{1,78}\n)+$/);
    expect(opened.issues).toHaveLength(1);
    expect(opened.issues[0]).not.toHaveProperty('span');
    expect(happened).toEqual(readOnce);
  });

  test('has a line for each input, weight and result', async () => {
    const { valueLines, text } = await opening().files.open(uri('a'));
    const lines = text.split('\n');
    expect([...valueLines.keys()].toSorted()).toEqual(['w', 'x', 'y']);
    for (const [name, line] of valueLines) expect(lines[line]).toMatch(new RegExp(`\\b${name}\\b`));
  });
});

test('issues of files beside the model come after its own', async () => {
  const beside = issue('weights.bin is missing');
  const asked: unknown[] = [];
  const { files } = opening({
    bytes: new TextEncoder().encode(
      '<ir_version: 9, opset_import: ["" : 20]>\ng (float[N] x) => (float[N] y) { y = Nonsense (x) }\n',
    ),
    platform: {
      checkNeighbours: (opened, of) => {
        asked.push([opened.format, of]);
        return [beside];
      },
    },
  });
  const { opened } = await files.open(uri('a'));
  expect(asked).toEqual([['onnx-text', uri('a')]]);
  const [first, ...others] = opened.issues;
  expect(first?.message).toContain('Nonsense');
  expect(others).toEqual([beside]);
});

test('layers know the operator of each value, and no value that is left out', async () => {
  const { layers } = await opening().files.open(uri('a'));
  const shown = layers();
  expect([...shown.operatorOf]).toEqual([
    ['p', 0],
    ['y', 1],
  ]);
  // The spec has the name of the file without its ending.
  expect(shown.text).toMatch(/\ba\b/);
  expect(shown.text).not.toMatch(/\ba\.\w/);
  expect(layers()).toBe(shown);
});
