/** What can be written at a place of a layer spec. */

import type { ScenarioPlace } from './scenarioContext.ts';

export type CursorPlace =
  | { readonly kind: 'top-level-key' }
  | { readonly kind: 'model-key' }
  | { readonly kind: 'layer-start' }
  | { readonly kind: 'callee' }
  | ({ readonly kind: 'argument' } & OpenCall)
  | { readonly kind: 'after-call'; readonly hasSources: boolean; readonly marks: readonly string[] }
  | { readonly kind: 'mark-value'; readonly mark: string }
  | { readonly kind: 'repetition' }
  | { readonly kind: 'source'; readonly taken: readonly string[] }
  | { readonly kind: 'source-output'; readonly source: string }
  | { readonly kind: 'dimension-value' }
  | { readonly kind: 'element-type' }
  | { readonly kind: 'input-size' }
  | ScenarioPlace
  | { readonly kind: 'output'; readonly taken: readonly string[] };

/** A call that the cursor is inside of. */
export interface OpenCall {
  readonly callee: string;
  /** Position of the argument among all that are written, from 0. */
  readonly index: number;
  /** Positional arguments before this one. */
  readonly positional: readonly string[];
  /** The keyword of this argument, once its `=` is written. */
  readonly keyword: string | undefined;
  /** Keywords of the arguments before this one. */
  readonly keywords: readonly string[];
  /** True inside a tuple, a sum or the like, where no keyword can begin. */
  readonly nested: boolean;
}

/** A place, and the word that is being written there. */
export interface FoundPlace {
  readonly place: CursorPlace;
  /** Where words are not identifiers: `dgx-h100`. */
  readonly word?: string;
}
