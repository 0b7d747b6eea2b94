/** Activations that an export merged are computed by every module that must have made its own, and nowhere else. */

import { describe, expect, test } from 'vitest';
import { openOnnxText } from '../../server/src/analysis/openModel.ts';

/** Names of the operators that compute an activation, with their readers. */
function activations(nodes: string): readonly string[] {
  const text = `<ir_version: 10, opset_import: ["" : 21]>\ng (float[N, 8, 4, 4] x, float[8, 8, 1, 1] v, float[8, 8, 1, 1] w, float[8, 8, 1, 1] z) => (float[N, 8, 4, 4] y) {\n${nodes}\n}\n`;
  const { analysis, issues } = openOnnxText(text, 'cells.onnxtxt');
  expect(issues).toEqual([]);
  if (analysis === undefined) throw new Error('no analysis');
  const { operators, values } = analysis.graph;
  return operators
    .filter(({ type }) => type === 'Relu')
    .map(({ name, outputs: [output = ''] }) => {
      const readers = values.get(output)?.consumers.map((index) => operators[index]?.name);
      return `${name} > ${readers?.join(' ')}`;
    });
}

describe('each module beside that reads it gets its own', () => {
  test.each([
    [
      'branches of a cell, whose activation is a module',
      `["/stem/Conv"] a = Conv (x, w)
       ["/cell/left/act/Relu"] b = Relu (a)
       ["/cell/left/conv/Conv"] c = Conv (b, v)
       ["/cell/right/conv/Conv"] d = Conv (b, z)
       ["/cell/Add"] y = Add (c, d)`,
      ['/cell/left/act/Relu > /cell/left/conv/Conv', '/cell/right/act/Relu > /cell/right/conv/Conv'],
    ],
    [
      'branches that call a function, each once however often it reads it',
      `["/stem/Conv"] a = Conv (x, w)
       ["/cell/left/Relu"] b = Relu (a)
       ["/cell/left/Conv"] c = Conv (b, v)
       ["/cell/right/Conv"] d = Conv (b, z)
       ["/cell/right/Add"] e = Add (b, d)
       ["/cell/Add"] y = Add (c, e)`,
      ['/cell/left/Relu > /cell/left/Conv', '/cell/right/Relu > /cell/right/Conv /cell/right/Add'],
    ],
  ])('%s', (_, nodes, found) => {
    expect(activations(nodes)).toEqual(found);
  });
});

describe('one is one', () => {
  test.each([
    [
      'where the module that made it hands it out',
      `["/stem/conv/Conv"] a = Conv (x, w)
       ["/stem/act/Relu"] b = Relu (a)
       ["/left/Conv"] c = Conv (b, v)
       ["/right/Conv"] d = Conv (b, z)
       ["/Add"] y = Add (c, d)`,
    ],
    [
      'where what is activated was made in the same module, which goes on with it: a block that skips to a decoder',
      `["/down/conv/Conv"] a = Conv (x, w)
       ["/down/act/Relu"] b = Relu (a)
       ["/down/next/Conv"] c = Conv (b, v)
       ["/up/Conv"] d = Conv (b, z)
       ["/up/Add"] y = Add (c, d)`,
    ],
    [
      'where one module reads it several times',
      `["/stem/Conv"] a = Conv (x, w)
       ["/block/act/Relu"] b = Relu (a)
       ["/block/conv/Conv"] c = Conv (b, v)
       ["/block/skip/Conv"] d = Conv (b, z)
       ["/block/Add"] y = Add (c, d)`,
    ],
    [
      'where names tell nothing',
      `a = Conv (x, w)
       b = Relu (a)
       c = Conv (b, v)
       d = Conv (b, z)
       y = Add (c, d)`,
    ],
  ])('%s', (_, nodes) => {
    expect(activations(nodes)).toHaveLength(1);
  });
});
