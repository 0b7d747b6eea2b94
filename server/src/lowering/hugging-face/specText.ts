/** The text of a layer spec, from its parts. */

import type { LossChoice } from '../../model/scenario.ts';

export interface SpecParts {
  readonly name: string;
  /** Whole sentences; one line each. */
  readonly comments: readonly string[];
  readonly dims: Readonly<Record<string, number | string>>;
  readonly inputs: Readonly<Record<string, string>>;
  readonly blocks: Readonly<Record<string, readonly string[]>>;
  readonly layers: readonly string[];
  readonly outputs?: readonly string[];
  readonly loss?: LossChoice;
  /** Tokens of an image, of which every sequence has `images`. */
  readonly images?: number;
}

export function specText(parts: SpecParts): string {
  const list = (lines: readonly string[], indent: string): string =>
    lines.map((line) => `${indent}- ${line}\n`).join('');
  const pairs = (entries: Readonly<Record<string, number | string>>): string =>
    Object.entries(entries)
      .map(([name, value]) => `  ${name}: ${value}\n`)
      .join('');
  const blocks = Object.entries(parts.blocks)
    .map(([name, lines]) => `  ${name}:\n${list(lines, '    ')}`)
    .join('');
  return [
    parts.comments.map((line) => `# ${line}\n`).join(''),
    `name: ${JSON.stringify(parts.name)}\n`,
    `\ndims:\n${pairs(parts.dims)}`,
    `\ninputs:\n${pairs(parts.inputs)}`,
    blocks === '' ? '' : `\nblocks:\n${blocks}`,
    `\nlayers:\n${list(parts.layers, '  ')}`,
    parts.outputs === undefined ? '' : `\noutputs: [${parts.outputs.join(', ')}]\n`,
    parts.loss === undefined ? '' : `\nscenario:\n  loss: ${parts.loss}\n`,
  ].join('');
}
