/** Attention in every form that PyTorch exports it; `exportAttention.py` makes the files. */

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { attention } from '../../server/src/composites/attention.ts';
import type { Composite } from '../../server/src/composites/composite.ts';
import { findComposites } from '../../server/src/composites/findComposites.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { Graph } from '../../server/src/model/graph.ts';

const folder = 'test/composites/attention';

interface Exports {
  readonly forms: Readonly<Record<string, { readonly launched: string }>>;
  readonly opsets: Readonly<Record<string, readonly number[]>>;
}

const files = ['1.13', '2.13'].flatMap((torch) => {
  const { forms, opsets }: Exports = JSON.parse(readFileSync(`${folder}/exports-${torch}.json`, 'utf8'));
  return Object.keys(opsets).map((file) => {
    const form = file.slice(0, file.indexOf('-torch'));
    return { file, form, launched: forms[form]?.launched ?? '' };
  });
});

function attentionOf(file: string): { readonly graph: Graph; readonly found: readonly Composite[] } {
  const name = `${file}.onnxtxt`;
  const { analysis } = openModel(byteSourceOfBuffer(readFileSync(`${folder}/${name}`)), name);
  if (analysis === undefined) throw new Error(`${name} cannot be read`);
  const { graph } = analysis;
  return { graph, found: [...new Set(findComposites(graph, [attention]).values())] };
}

test('every file of the folder is in the table', () => {
  const listed = files.map(({ file }) => `${file}.onnxtxt`).sort();
  expect(readdirSync(folder).filter((name) => name.endsWith('.onnxtxt'))).toEqual(listed);
});

describe.each(files)('$file', ({ file, form, launched }) => {
  const { graph, found } = attentionOf(file);
  const whole = graph.operators.filter(({ type }) => type === 'Attention').length;

  test(`is attention that is launched as ${launched}`, () => {
    const count = launched === 'none' ? 0 : form === 'decoder-layer' ? 2 : 1;
    expect(found.length + whole).toBe(count);
    expect(found.map(({ launchedAs }) => launchedAs)).toEqual(found.map(() => launched));
  });

  test('tells queries, keys and values apart, and gives out one tensor', () => {
    for (const { roles, outputs, launchedAs } of found) {
      expect(new Set([roles.query, roles.key, roles.value]).size).toBe(3);
      if (launchedAs !== 'several') expect(outputs).toHaveLength(1);
    }
  });
});
