/** Definition, references and highlights of the names of a layer spec. */

import type { Name } from '../../formats/layer-spec/syntax.ts';
import type { TextSpan } from '../../model/issue.ts';
import type { Definition } from '../textFeatures.ts';
import { nameAt, namesOfSpec } from './specNames.ts';
import { calledLayers, holds, placedLayers, type SpecText } from './specText.ts';

/** Where the word at `offset` is defined; `input` inside a block leads to the block's name. */
export function findDefinition(document: SpecText, offset: number): Definition | undefined {
  const found = nameAt(namesOfSpec(document), offset);
  if (found !== undefined) {
    const { name, span } = found;
    return { origin: span, target: name.definitions[0] ?? span, whole: name.whole };
  }
  const word = wordAt(document.source, offset);
  const included = word === undefined ? undefined : includedBlock(document, word);
  if (included !== undefined) return included;
  const placed = placedLayers(document.spec).find(({ layer }) => holds(layer.span, offset));
  if (word === undefined || placed?.block === undefined) return undefined;
  if (document.source.slice(word.start, word.end) !== 'input') return undefined;
  const { span } = placed.block.name;
  return { origin: word, target: span, whole: span };
}

/** A block that stands in an included file, or one of its parameters. */
function includedBlock(document: SpecText, word: TextSpan): Definition | undefined {
  const isWord = ({ span }: Name): boolean => span.start === word.start;
  const called = calledLayers(document.spec).find(
    ({ call }) =>
      isWord(call.callee) || call.arguments.some(({ keyword }) => keyword !== undefined && isWord(keyword)),
  );
  if (called === undefined) return undefined;
  const { callee } = called.call;
  for (const { path, text, blocks } of document.included) {
    const block = blocks.find((candidate) => candidate.name.text === callee.text);
    if (block === undefined) continue;
    if (!isWord(callee)) {
      const name = document.source.slice(word.start, word.end);
      const parameter = block.parameters.find((candidate) => candidate.name.text === name)?.name.span;
      return parameter && { origin: word, target: parameter, whole: parameter, file: { path, text } };
    }
    return { origin: word, target: block.name.span, whole: block.span, file: { path, text } };
  }
  return undefined;
}

/** Every place of the name at `offset`, in order of the text; the definition too where it is wanted. */
export function findReferences(
  document: SpecText,
  offset: number,
  withDefinition: boolean,
): readonly TextSpan[] {
  const found = nameAt(namesOfSpec(document), offset);
  if (found === undefined) return [];
  const { definitions, references } = found.name;
  return [...(withDefinition ? definitions : []), ...references].toSorted(
    (left, right) => left.start - right.start,
  );
}

/** The identifier around an offset. */
export function wordAt(source: string, offset: number): TextSpan | undefined {
  const isPart = (character: string | undefined): boolean =>
    character !== undefined && /[\p{L}\p{N}_]/u.test(character);
  let start = offset;
  while (start > 0 && isPart(source[start - 1])) start -= 1;
  let end = offset;
  while (end < source.length && isPart(source[end])) end += 1;
  return start === end ? undefined : { start, end };
}
