/** What `layercost.yaml` asks for: models in scenarios, and what each may cost. */

import type { TextSpan } from '../model/issue.ts';
import type { QuantityName } from './quantities.ts';

export interface CheckFile {
  readonly checks: readonly Check[];
}

export interface Check {
  readonly name: string;
  /** Path of the model from the folder of the file; `FILE#NAME` is one of several models of a layer spec. */
  readonly model: string;
  /** Options of the command line without their dashes, each with its values as words. */
  readonly scenario: readonly ScenarioOption[];
  readonly budgets: readonly Budget[];
  /** Codes of findings that are known and accepted, without `findings/`. */
  readonly accept: readonly string[];
  /** The least severity of a finding that fails the check. */
  readonly failOn: FailOn;
  readonly span: TextSpan;
}

export interface ScenarioOption {
  readonly name: string;
  readonly value: string;
}

export const failOn = ['error', 'warning', 'information', 'never'] as const;
export type FailOn = (typeof failOn)[number];

/** One limit of one quantity. */
export interface Budget {
  readonly quantity: QuantityName;
  /** As it was written: `60 ms`, `+5 %`. */
  readonly text: string;
  readonly limit: Limit;
  readonly span: TextSpan;
}

export type Limit =
  /** In the base unit of the quantity. */
  | { readonly kind: 'absolute'; readonly value: number }
  /** The change against the base revision, as a share of its value. */
  | { readonly kind: 'relative'; readonly share: number };
