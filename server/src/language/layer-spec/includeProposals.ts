/** Proposals for the path of a file to include: what is in the folder that the path names so far. */

import { includePath } from '../../formats/layer-spec/includePath.ts';
import { itemAt } from '../../model/at.ts';
import type { TextSpan } from '../../model/issue.ts';
import type { Completion } from '../completion.ts';
import type { FolderEntry } from '../textFeatures.ts';
import { positionAt } from '../textLines.ts';
import type { SpecText } from './specText.ts';

export interface IncludePlace {
  /** The folder named so far, relative to the document: `''`, or `blocks/`. */
  readonly folder: string;
  /** The part of the path that is being written. */
  readonly span: TextSpan;
}

/** The path that is being written at `offset`; `undefined` where none is, or where it leaves the document's folder. */
export function includeAt({ source, text }: SpecText, offset: number): IncludePlace | undefined {
  const { line } = positionAt(text, offset);
  const before = source.slice(itemAt(text.starts, line), offset);
  const own = /^include\s*:\s+(?:\[(?:[^\]#]*,)?\s*)?['"]?([^\s'",[\]#]*)$/.exec(before);
  const item = /^\s*-\s+['"]?([^\s'"#:]*)$/.exec(before);
  const isListed = item !== null && listKey(text.lines, line) === 'include';
  const written = own?.[1] ?? (isListed ? item[1] : undefined);
  if (written === undefined) return undefined;
  const folder = written.slice(0, written.lastIndexOf('/') + 1);
  if ('problem' in includePath(`${folder}any.yaml`, '')) return undefined;
  return { folder, span: { start: offset - written.length + folder.length, end: offset } };
}

/** Folders, then files that can be included and are not yet; `self` is the name of the document. */
export function includeProposals(
  { spec }: SpecText,
  { folder, span }: IncludePlace,
  entries: readonly FolderEntry[],
  self: string,
): readonly Completion[] {
  const taken = new Set([self, ...spec.includes.map(({ path }) => path.text)]);
  const shown = entries
    .filter(({ name, isFolder }) =>
      isFolder ? !/^\.|^node_modules$/.test(name) : /\.ya?ml$/i.test(name) && !taken.has(`${folder}${name}`),
    )
    .toSorted((left, right) =>
      left.isFolder === right.isFolder ? (left.name < right.name ? -1 : 1) : left.isFolder ? -1 : 1,
    );
  return shown.map(({ name, isFolder }) => {
    const label = isFolder ? `${name}/` : name;
    return { label, kind: isFolder ? 'folder' : 'file', detail: '', documentation: '', insert: label, span };
  });
}

/** The key whose list a line belongs to. */
function listKey(lines: readonly string[], line: number): string | undefined {
  for (let at = line - 1; at >= 0; at -= 1) {
    const content = lines[at] ?? '';
    if (/^\s*(?:-|#|$)/.test(content)) continue;
    return /^(\w+)\s*:\s*(?:#.*)?$/.exec(content)?.[1];
  }
  return undefined;
}
