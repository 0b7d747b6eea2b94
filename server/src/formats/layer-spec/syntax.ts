/**
 * The syntax tree of a layer spec: what the text says, with the place of every word, before anything is evaluated.
 *
 * A tree exists for any text; what could not be read is missing from it and named by an issue.
 */

import type { ElementType } from '../../model/elementType.ts';
import type { TextSpan } from '../../model/issue.ts';
import type { ScenarioRequest } from '../../model/scenario.ts';

export interface LayerSpec {
  readonly name: Name | undefined;
  readonly dims: readonly SpecDimension[];
  readonly inputs: readonly SpecInput[];
  readonly blocks: readonly SpecBlock[];
  readonly layers: readonly SpecLayer[];
  /** Layers whose outputs leave the model; the last layer's where none is named. */
  readonly outputs: readonly Name[];
  readonly scenario: ScenarioRequest;
  /** Where each key of the scenario stands, for messages about it. */
  readonly scenarioSpans: ReadonlyMap<string, TextSpan>;
}

export interface Name {
  readonly text: string;
  readonly span: TextSpan;
}

/** `d: 768`, `hidden: 4*d`, or `batch:` without default. */
export interface SpecDimension {
  readonly name: Name;
  readonly value: Expression | undefined;
}

/** `tokens: int64[batch, seq]` */
export interface SpecInput {
  readonly name: Name;
  readonly elementType: ElementType;
  readonly dimensions: readonly Expression[];
}

/** `bottleneck(width, stride=1):` and the layers below it. */
export interface SpecBlock {
  readonly name: Name;
  readonly parameters: readonly BlockParameter[];
  readonly layers: readonly SpecLayer[];
}

export interface BlockParameter {
  readonly name: Name;
  readonly default: Expression | undefined;
}

/** `- name: call`. */
export interface SpecLayer {
  readonly name: Name;
  readonly call: LayerCall;
  /** From the name to the end of the call. */
  readonly span: TextSpan;
}

/** `Conv2d(64, kernel_size=3) * 2 from stem, other` */
export interface LayerCall {
  /** The last part of a dotted name: `nn.Linear` is `Linear`. */
  readonly callee: Name;
  readonly arguments: readonly Argument[];
  /** From the opening parenthesis to the closing one, or to the end of the text where it is missing. */
  readonly argumentsSpan: TextSpan;
  readonly repetition: Expression | undefined;
  readonly sources: readonly Name[];
}

export interface Argument {
  readonly keyword: Name | undefined;
  readonly value: Expression;
  readonly span: TextSpan;
}

export type Expression =
  | { readonly kind: 'number'; readonly value: number; readonly span: TextSpan }
  | { readonly kind: 'boolean'; readonly value: boolean; readonly span: TextSpan }
  | { readonly kind: 'none'; readonly span: TextSpan }
  | { readonly kind: 'string'; readonly value: string; readonly span: TextSpan }
  | { readonly kind: 'name'; readonly name: string; readonly span: TextSpan }
  | { readonly kind: 'negation'; readonly operand: Expression; readonly span: TextSpan }
  | {
      readonly kind: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
      readonly span: TextSpan;
    }
  | { readonly kind: 'tuple'; readonly items: readonly Expression[]; readonly span: TextSpan };

export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**';
