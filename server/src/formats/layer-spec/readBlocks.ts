/** Reads the blocks of a layer spec: `bottleneck(width, stride=1):` and the layers below it. */

import { parseSignature } from './parseSignature.ts';
import { readLayers } from './readLayers.ts';
import type { SpecReading } from './specReading.ts';
import type { Name, SpecBlock } from './syntax.ts';
import type { YamlEntry } from './yamlTree.ts';

export function readBlocks(reading: SpecReading, entry: YamlEntry | undefined): readonly SpecBlock[] {
  const blocks: SpecBlock[] = [];
  const names = new Set<string>();
  for (const { key, value } of reading.mappingOf(entry, 'blocks')) {
    const { result, issues } = parseSignature(reading.text, key.content.start, key.content.end);
    reading.issues.push(...issues);
    if (result === undefined) continue;
    const { text, span } = result.name;
    if (names.has(text)) {
      reading.report('spec/duplicate-name', `a block named \`${text}\` already exists`, span);
      continue;
    }
    names.add(text);
    expectDistinct(reading, [...result.parameters.map(({ name }) => name), ...result.inputs], text);
    const layers = readLayers(reading, { key, value });
    const end = layers.at(-1)?.span.end ?? value?.span.end ?? key.span.end;
    blocks.push({ ...result, layers, span: { start: span.start, end } });
  }
  return blocks;
}

function expectDistinct(reading: SpecReading, names: readonly Name[], block: string): void {
  for (const [index, name] of names.entries()) {
    if (names.findIndex(({ text }) => text === name.text) === index) continue;
    reading.report('spec/duplicate-name', `\`${name.text}\` is already a name of \`${block}\``, name.span);
  }
}
