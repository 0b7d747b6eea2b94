/** The names of a layer spec while they are found, by what they are and where they can be used. */

import type { Name } from '../../formats/layer-spec/syntax.ts';
import type { TextSpan } from '../../model/issue.ts';

export type NameKind = 'layer' | 'block' | 'dimension' | 'parameter' | 'input';

export interface SpecName {
  readonly kind: NameKind;
  readonly text: string;
  /** The word that defines it; one more for every further model that does. */
  readonly definitions: readonly TextSpan[];
  /** All that its first definition says: `d: 768`, a layer's line, a block with its layers. */
  readonly whole: TextSpan;
  /** The block it can be used in; `undefined` for what is visible everywhere. */
  readonly block: string | undefined;
  /** Uses in order of the text, definitions left out. */
  readonly references: readonly TextSpan[];
}

/** A name to which definitions and uses are added. */
export interface OpenName extends SpecName {
  readonly definitions: TextSpan[];
  readonly references: TextSpan[];
}

export class NameTable {
  readonly names: OpenName[] = [];
  private readonly byKey = new Map<string, OpenName[]>();

  /** A name of its own, beside others of the same text in its scope. */
  add(kind: NameKind, { text, span }: Name, whole: TextSpan, scope: string, block: string | undefined): void {
    const made: OpenName = { kind, text, definitions: [span], whole, block, references: [] };
    this.names.push(made);
    const key = keyOf(kind, text, scope);
    const same = this.byKey.get(key);
    if (same === undefined) this.byKey.set(key, [made]);
    else same.push(made);
  }

  /** A name that all models of the file share: it is one, however often it is defined. */
  addShared(kind: NameKind, name: Name, whole: TextSpan, block?: string): void {
    const known = this.find(kind, name.text, block);
    if (known === undefined) this.add(kind, name, whole, block ?? '', block);
    else known.definitions.push(name.span);
  }

  /** The first of this text in a block, or outside of all. */
  find(kind: NameKind, text: string, block = ''): OpenName | undefined {
    return this.byKey.get(keyOf(kind, text, block))?.[0];
  }

  /** Layers of this text in a scope, in order of the text. */
  layers(text: string, scope: string): readonly OpenName[] {
    return this.byKey.get(keyOf('layer', text, scope)) ?? [];
  }
}

/** The scope of the layers of a block. */
export const scopeOfBlock = (block: string): string => `blocks.${block}`;

/** The scope of the layers of a model; of what stands at the top level where it has no name. */
export const scopeOfModel = (model = ''): string => `models.${model}`;

const keyOf = (kind: NameKind, text: string, scope: string): string => `${kind} ${scope} ${text}`;
