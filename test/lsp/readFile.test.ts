/** A file by its address: who opens it, what the client is asked, and what its answers become. */

import { describe, expect, test } from 'vitest';
import type { Connection } from 'vscode-languageserver';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { FileBounds, FileOpening, Platform } from '../../server/src/lsp/platform.ts';
import { fileReader } from '../../server/src/lsp/readFile.ts';
import type { ReadBytesResult } from '../../server/src/protocol.ts';

const uri = 'vscode-vfs://host/models/net.onnx';
/** 4 bytes, one of them above those of ASCII. */
const content = Uint8Array.of(0, 127, 128, 255);
/** By RFC 4648, section 4: six bits a letter, and `=` for bytes that are not there. */
const base64 = 'AH+A/w==';

interface Reading {
  readonly answer?: ReadBytesResult;
  readonly own?: FileOpening;
  readonly reads?: boolean;
  readonly encoding?: Platform['bytesEncoding'];
  readonly bounds?: FileBounds;
}

async function reading({ answer, own, reads = true, encoding = 'base64', bounds }: Reading) {
  const asked: unknown[][] = [];
  const sent: Pick<Connection, 'sendRequest'> = {
    sendRequest: (...request: unknown[]) => {
      asked.push(request);
      return Promise.resolve(answer as never);
    },
  };
  const opened: unknown[] = [];
  const read = fileReader(
    sent,
    {
      bytesEncoding: encoding,
      openFile: (...wish) => {
        opened.push(wish);
        return own;
      },
    },
    () => reads,
  );
  return { file: await read(uri, bounds), asked, opened };
}

const bytesOf = (file: FileOpening): Uint8Array | string =>
  file.kind === 'open' ? file.source.read(0, file.source.size) : file.issue.message;

test('what the platform opens is not asked of the client', async () => {
  const own: FileOpening = { kind: 'open', source: byteSourceOfBuffer(content), close: () => {} };
  const bounds = { longest: 4, inside: 'file:///models' };
  expect(await reading({ own, bounds })).toEqual({ file: own, asked: [], opened: [[uri, bounds]] });
});

test('a client that reads no bytes is not asked either', async () => {
  const { file, asked } = await reading({ reads: false });
  expect(asked).toEqual([]);
  expect(bytesOf(file)).toBe(
    'cannot read net.onnx: the editor gives no access to it; save it to a local folder',
  );
});

/** The folder that a file has to be in is the platform's to check. */
test.each<[string, Reading, object]>([
  ['without bounds', {}, { uri, encoding: 'base64' }],
  ['as bytes', { encoding: 'binary' }, { uri, encoding: 'binary' }],
  ['with the limit', { bounds: { longest: 4 } }, { uri, encoding: 'base64', longest: 4 }],
  [
    'without the folder',
    { bounds: { longest: 4, inside: 'file:///models' } },
    { uri, encoding: 'base64', longest: 4 },
  ],
])('the client is asked %s', async (_, given, params) => {
  const { asked } = await reading({ answer: { bytes: base64 }, ...given });
  expect(asked).toEqual([['layercost/readBytes', params]]);
});

describe('of an answer', () => {
  const isTooLong = /^cannot read net\.onnx: it is longer than 3 B; check that it is the right file$/;
  test.each<[string, Reading, Uint8Array | RegExp]>([
    ['base64 is decoded', { answer: { bytes: base64 } }, content],
    ['bytes are taken', { answer: { bytes: content } }, content],
    ['none is an empty file', { answer: { bytes: '' } }, Uint8Array.of()],
    ['as many bytes as allowed are taken', { answer: { bytes: base64 }, bounds: { longest: 4 } }, content],
    ['one byte more is refused', { answer: { bytes: base64 }, bounds: { longest: 3 } }, isTooLong],
    ['a failure is told', { answer: { failure: 'gone' } }, /^cannot read net\.onnx: gone$/],
  ])('%s', async (_, given, result) => {
    const { file } = await reading(given);
    const found = bytesOf(file);
    if (result instanceof RegExp) {
      expect(found).toMatch(result);
      expect(file).toMatchObject({ issue: { code: 'file/unreadable', severity: 'error' } });
    } else {
      expect(found).toEqual(result);
    }
  });
});
