/** Names of the values that flow between nodes or layers: one definition, many readers. */

import type { TextSpan } from '../model/issue.ts';
import type { Outcome, TextEdit } from './textEdit.ts';
import type { Definition } from './textFeatures.ts';

export interface ValueName {
  readonly text: string;
  readonly definitions: readonly TextSpan[];
  readonly references: readonly TextSpan[];
  /** Names of one scope must differ. */
  readonly scope: number;
}

export interface ValueNames {
  definition(offset: number): Definition | undefined;
  references(offset: number, withDefinition: boolean): readonly TextSpan[];
  prepareRename(offset: number): Outcome<TextSpan>;
  rename(offset: number, newName: string): Outcome<readonly TextEdit[]>;
}

/** `write` gives a name as the text writes it at a place, or why it cannot be one. */
export function valueNames(
  names: readonly ValueName[],
  what: string,
  write: (name: string, span: TextSpan) => Outcome<TextEdit>,
): ValueNames {
  const at = (offset: number): { readonly name: ValueName; readonly span: TextSpan } | undefined => {
    for (const name of names) {
      const spans = [...name.definitions, ...name.references];
      const span = spans.find(({ start, end }) => offset >= start && offset <= end);
      if (span !== undefined) return { name, span };
    }
    return undefined;
  };
  const refused = (reason: string) => ({ kind: 'refused', reason }) as const;
  const nothing = refused(`Only ${what} can be renamed`);
  return {
    definition: (offset) => {
      const found = at(offset);
      const [target] = found?.name.definitions ?? [];
      return found === undefined || target === undefined
        ? undefined
        : { origin: found.span, target, whole: target };
    },
    references: (offset, withDefinition) => {
      const { definitions = [], references = [] } = at(offset)?.name ?? {};
      const spans = [...(withDefinition ? definitions : []), ...references];
      return spans.toSorted((left, right) => left.start - right.start);
    },
    prepareRename: (offset) => {
      const found = at(offset);
      return found === undefined ? nothing : { kind: 'done', result: found.span };
    },
    rename: (offset, newName) => {
      const found = at(offset);
      if (found === undefined) return nothing;
      const { name } = found;
      if (newName === name.text) return { kind: 'done', result: [] };
      if (names.some(({ text, scope }) => text === newName && scope === name.scope)) {
        return refused(`\`${newName}\` is already a name here; choose another one`);
      }
      const edits: TextEdit[] = [];
      for (const span of [...name.definitions, ...name.references]) {
        const written = write(newName, span);
        if (written.kind === 'refused') return written;
        edits.push(written.result);
      }
      return { kind: 'done', result: edits };
    },
  };
}
