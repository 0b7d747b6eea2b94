/**
 * Blocks and their parameters across files: a block is called wherever its file is included.
 *
 * Only these cross: dims and layers of a file are seen by its own blocks alone. Files are told apart by addresses,
 * which mean nothing here.
 */

import type { LayerCall, LayerSpec, Name } from '../../formats/layer-spec/syntax.ts';
import type { TextSpan } from '../../model/issue.ts';
import type { Outcome } from '../textEdit.ts';
import type { FileEdits, FileSpans, RelatedTexts } from '../textFeatures.ts';
import type { SpecName } from './nameTable.ts';
import { renameLayerSpec } from './renameLayerSpec.ts';
import { nameAt, namesOfSpec } from './specNames.ts';
import { blocksOf, calledLayers, holds, readSpecText, type SpecText } from './specText.ts';

/** Whether the word at `offset` is a block or parameter of this file, or of one that it includes. */
export function isSharedWord(document: SpecText, offset: number): boolean {
  const own = nameAt(namesOfSpec(document), offset);
  if (own !== undefined) return own.name.kind === 'block' || own.name.kind === 'parameter';
  const included = new Set(document.included.flatMap(({ blocks }) => blocks.map(({ name }) => name.text)));
  return calledLayers(document.spec).some(
    ({ call }) => included.has(call.callee.text) && wordsOfCall(call).some(({ span }) => holds(span, offset)),
  );
}

/** Places of the block or parameter at `offset` in all files; `undefined` where the word is of one file alone. */
export function placesAcross(
  document: SpecText,
  offset: number,
  related: RelatedTexts,
  withDefinition: boolean,
): readonly FileSpans[] | undefined {
  const found = findAcross(document, offset, related);
  if (found === undefined) return undefined;
  const { owner, name, callers } = found;
  const own = [...(withDefinition ? name.definitions : []), ...name.references].toSorted(
    (left, right) => left.start - right.start,
  );
  return [
    { address: owner.address, text: owner.document.text, spans: own },
    ...callers.map(({ address, document: { text, spec } }) => ({ address, text, spans: usesIn(spec, name) })),
  ].filter(({ spans }) => spans.length > 0);
}

/** The word at `offset` where it is a name that another file defines. */
export function foreignWord(document: SpecText, offset: number, related: RelatedTexts): TextSpan | undefined {
  const found = findAcross(document, offset, related);
  return found === undefined || found.owner.address === related.self ? undefined : found.word;
}

/** Edits of every file; `undefined` where the word is of one file alone. */
export function renameAcross(
  document: SpecText,
  offset: number,
  newName: string,
  related: RelatedTexts,
): Outcome<readonly FileEdits[]> | undefined {
  const found = findAcross(document, offset, related);
  if (found === undefined) return undefined;
  const { owner, name, callers, files } = found;
  const outcome = renameLayerSpec(owner.document, name.definitions[0]?.start ?? 0, newName);
  if (outcome.kind === 'refused') return outcome;
  if (name.kind === 'block') {
    const rival = callers.find((file) => visibleBlock(file, newName, files) !== undefined);
    if (rival !== undefined) {
      const path = rival.address === related.self ? 'this file' : lastPart(rival.address);
      return {
        kind: 'refused',
        reason: `\`${newName}\` is already a block in ${path}, which calls \`${name.text}\`; choose another name`,
      };
    }
  }
  const edited = [
    { address: owner.address, text: owner.document.text, edits: outcome.result },
    ...callers.map(({ address, document: { text, spec } }) => ({
      address,
      text,
      edits: usesIn(spec, name).map((span) => ({ span, text: newName })),
    })),
  ];
  return { kind: 'done', result: edited.filter(({ edits }) => edits.length > 0) };
}

interface SpecFile {
  readonly address: string;
  readonly document: SpecText;
  /** Addresses of the files it includes itself. */
  readonly includes: readonly string[];
}

interface AcrossFiles {
  /** The file that defines the name. */
  readonly owner: SpecFile;
  readonly name: SpecName;
  /** The word that was asked about. */
  readonly word: TextSpan;
  /** The files that can call it by including the owner. */
  readonly callers: readonly SpecFile[];
  readonly files: ReadonlyMap<string, SpecFile>;
}

function findAcross(document: SpecText, offset: number, related: RelatedTexts): AcrossFiles | undefined {
  const files = readFiles(document, related);
  const self = files.get(related.self);
  if (self === undefined) return undefined;
  const own = nameAt(namesOfSpec(document), offset);
  if (own !== undefined) {
    const { name, span } = own;
    const block = name.kind === 'block' ? name.text : name.kind === 'parameter' ? name.block : undefined;
    if (block === undefined) return undefined;
    const callers = callersOf(self, block, files);
    return callers.length === 0 ? undefined : { owner: self, name, word: span, callers, files };
  }
  const foreign = foreignCall(self, offset, files);
  if (foreign === undefined) return undefined;
  const { owner, word, block } = foreign;
  const text = document.source.slice(word.start, word.end);
  const name = namesOfSpec(owner.document).find(
    ({ kind, text: each, block: inside }) =>
      each === text && (text === block ? kind === 'block' : kind === 'parameter' && inside === block),
  );
  if (name === undefined) return undefined;
  return { owner, name, word, callers: callersOf(owner, block, files), files };
}

/** The callee or keyword at `offset` of a call whose block stands in another file. */
function foreignCall(
  self: SpecFile,
  offset: number,
  files: ReadonlyMap<string, SpecFile>,
): { readonly owner: SpecFile; readonly word: TextSpan; readonly block: string } | undefined {
  for (const { call } of calledLayers(self.document.spec)) {
    const word = wordsOfCall(call).find(({ span }) => holds(span, offset));
    if (word === undefined) continue;
    const owner = visibleBlock(self, call.callee.text, files);
    if (owner === undefined || owner === self) return undefined;
    return { owner, word: word.span, block: call.callee.text };
  }
  return undefined;
}

const wordsOfCall = (call: LayerCall): readonly Name[] => [
  call.callee,
  ...call.arguments.flatMap(({ keyword }) => keyword ?? []),
];

/** The file whose block a call of this name in `file` means. */
function visibleBlock(
  file: SpecFile,
  block: string,
  files: ReadonlyMap<string, SpecFile>,
): SpecFile | undefined {
  const defines = ({ document }: SpecFile): boolean =>
    blocksOf(document.spec).some(({ name }) => name.text === block);
  if (defines(file)) return file;
  return file.includes.flatMap((address) => files.get(address) ?? []).find(defines);
}

const callersOf = (
  owner: SpecFile,
  block: string,
  files: ReadonlyMap<string, SpecFile>,
): readonly SpecFile[] =>
  [...files.values()].filter((file) => file !== owner && visibleBlock(file, block, files) === owner);

/** Uses of a block or parameter of another file. */
function usesIn(spec: LayerSpec, { kind, text, block }: SpecName): readonly TextSpan[] {
  return calledLayers(spec).flatMap(({ call }): readonly TextSpan[] => {
    if (kind === 'block') return call.callee.text === text ? [call.callee.span] : [];
    return call.callee.text === block ? keywordsOf(call, text) : [];
  });
}

const keywordsOf = (call: LayerCall, name: string): readonly TextSpan[] =>
  call.arguments.flatMap(({ keyword }) => (keyword?.text === name ? [keyword.span] : []));

function readFiles(
  document: SpecText,
  { self, texts, resolve }: RelatedTexts,
): ReadonlyMap<string, SpecFile> {
  const fileOf = (address: string, read: SpecText): SpecFile => ({
    address,
    document: read,
    includes: read.spec.includes.flatMap(({ path }) => resolve(address, path.text) ?? []),
  });
  const files = new Map([[self, fileOf(self, document)]]);
  for (const { address, text } of texts) {
    if (!files.has(address)) files.set(address, fileOf(address, readSpecText(text)));
  }
  return files;
}

const lastPart = (address: string): string => address.split('/').pop() ?? address;
