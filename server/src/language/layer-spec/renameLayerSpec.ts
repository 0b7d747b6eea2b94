/** Renaming layers, blocks, dims, block parameters and inputs, without changing what the model means. */

import { layerDefinitions } from '../../lowering/layer-spec/layerDefinitions.ts';
import type { TextSpan } from '../../model/issue.ts';
import type { Outcome, TextEdit } from '../textEdit.ts';
import type { SpecName } from './nameTable.ts';
import { nameAt, namesOfSpec } from './specNames.ts';
import type { SpecText } from './specText.ts';

/** The word that would be renamed, or why it cannot be. */
export function prepareRename(document: SpecText, offset: number): Outcome<TextSpan> {
  const found = nameAt(namesOfSpec(document), offset);
  return found === undefined
    ? refused('Only layers, blocks, dims, block parameters and inputs of this file can be renamed')
    : { kind: 'done', result: found.span };
}

/** Edits of the definition and of every use; refused where the new name would be wrong or already mean something. */
export function renameLayerSpec(
  document: SpecText,
  offset: number,
  newName: string,
): Outcome<readonly TextEdit[]> {
  const names = namesOfSpec(document);
  const found = nameAt(names, offset);
  if (found === undefined) {
    return refused('Only layers, blocks, dims, block parameters and inputs of this file can be renamed');
  }
  const { name } = found;
  if (newName === name.text) return { kind: 'done', result: [] };
  if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(newName)) {
    return refused(
      `\`${newName}\` is not a name: use letters, digits and \`_\`, and do not begin with a digit`,
    );
  }
  if (words.has(newName)) return refused(`\`${newName}\` is a reserved word; choose another name`);
  const rival = names.find((other) => other !== name && other.text === newName && meet(name, other));
  if (rival !== undefined) {
    return refused(`\`${newName}\` is already ${kinds[rival.kind]} here; choose another name`);
  }
  if (name.kind === 'block' && layerDefinitions.some((layer) => layer.name === newName)) {
    return refused(`\`${newName}\` is a layer of PyTorch, which the block would hide; choose another name`);
  }
  const places = [...name.definitions, ...name.references];
  return { kind: 'done', result: places.map((span) => ({ span, text: newName })) };
}

/**
 * Whether two names can stand for each other somewhere. Blocks are only called, parameters of another block are out of
 * sight; tensors and values meet in the first arguments of functions.
 */
function meet(one: SpecName, other: SpecName): boolean {
  if (one.kind === 'block' || other.kind === 'block') return one.kind === other.kind;
  return one.block === undefined || other.block === undefined || one.block === other.block;
}

const refused = (reason: string): { readonly kind: 'refused'; readonly reason: string } => ({
  kind: 'refused',
  reason,
});

const kinds: Readonly<Record<SpecName['kind'], string>> = {
  layer: 'a layer',
  block: 'a block',
  dimension: 'a dim',
  parameter: 'a block parameter',
  input: 'an input',
};

const words: ReadonlySet<string> = new Set([
  'input',
  'from',
  'True',
  'False',
  'None',
  'true',
  'false',
  'null',
]);
