/**
 * The syntax tree of a layer spec: what the text says, with the place of every word, before anything is evaluated.
 *
 * A tree exists for any text; what could not be read is missing from it and named by an issue. Every name that is
 * defined or read is a `Name` with its span, so that definitions, references and renaming are walks over the tree.
 */

import type { ElementType } from '../../model/elementType.ts';
import type { TextSpan } from '../../model/issue.ts';
import type { ScenarioRequest } from '../../model/scenario.ts';

/** The whole text: one model, or what several models share. */
export interface LayerSpec extends SpecBody {
  readonly name: Name | undefined;
  /** Files whose blocks can be called here. */
  readonly includes: readonly SpecInclude[];
  /** Models below `models`, in order; empty where the text is one model. */
  readonly models: readonly SpecModel[];
}

/** `small:` below `models`, with the keys in which it differs from what all models share. */
export interface SpecModel extends SpecBody {
  readonly name: Name;
  /** From its name to the end of its last line. */
  readonly span: TextSpan;
}

/** What a model says; a model below `models` says the rest at the top level. */
export interface SpecBody {
  readonly dims: readonly SpecDimension[];
  readonly inputs: readonly SpecInput[];
  /** Whether `inputs` is written and each line below it could be read; else that has been said. */
  readonly hasAllInputs: boolean;
  readonly blocks: readonly SpecBlock[];
  readonly layers: readonly SpecLayer[];
  /** What leaves the model; the output of the last layer where none is named. */
  readonly outputs: readonly Reference[];
  readonly scenario: ScenarioRequest;
  /**
   * Where the value of each key of the scenario stands, for messages about it; `framework.name` and `framework.OPTION`
   * are parts of one, an option together with its value.
   */
  readonly scenarioSpans: ReadonlyMap<string, TextSpan>;
  /** Where the keys themselves stand. */
  readonly scenarioKeySpans: ReadonlyMap<string, TextSpan>;
  /** The keys that are written, in order. */
  readonly sections: readonly SpecSection[];
}

/** A key such as `layers` and all that stands below it. */
export interface SpecSection {
  readonly key: Name;
  /** From the key to the end of its value. */
  readonly span: TextSpan;
}

export interface Name {
  readonly text: string;
  readonly span: TextSpan;
}

/** A tensor by the layer or input that gives it: `stem`, or `lstm.h_n` for one output of several. */
export interface Reference extends Name {
  readonly output: Name | undefined;
}

/** `blocks/attention.layers.yaml`, relative to the file that includes it. */
export interface SpecInclude {
  readonly path: Name;
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
  readonly elementTypeSpan: TextSpan;
  readonly dimensions: readonly Expression[];
}

/** `attention(d, heads=8) from query, memory to out, weights:` and the layers below it. */
export interface SpecBlock {
  readonly name: Name;
  readonly parameters: readonly BlockParameter[];
  /** Tensors it is given, by name; none are named where it takes one, which is `input` inside it. */
  readonly inputs: readonly Name[];
  /** Layers of the block whose outputs leave it; the last one where none is named. */
  readonly outputs: readonly Reference[];
  readonly layers: readonly SpecLayer[];
  /** From the name to the end of the last layer. */
  readonly span: TextSpan;
}

export interface BlockParameter {
  readonly name: Name;
  readonly default: Expression | undefined;
}

/** `- name: call`, or `- q, k, v: call` where several outputs are named. */
export interface SpecLayer {
  /** The first of `names`. */
  readonly name: Name;
  readonly names: readonly Name[];
  /** `undefined` where the call is missing or could not be read. */
  readonly call: LayerCall | undefined;
  /** From the name to the end of the call. */
  readonly span: TextSpan;
}

/** `Conv2d(64, kernel_size=3) * 2 from stem, other frozen precision=fp32` */
export interface LayerCall {
  /** As it is written. */
  readonly written: string;
  /** The last part of a dotted name: `nn.Linear` is `Linear`. */
  readonly callee: Name;
  /** Written `onnx.Softmax`: the operator of ONNX, whatever layer has its name. */
  readonly isOperator?: boolean;
  readonly arguments: readonly Argument[];
  /** From the opening parenthesis to the closing one, or to the end of the text where it is missing. */
  readonly argumentsSpan: TextSpan;
  readonly repetition: Expression | undefined;
  readonly sources: readonly Reference[];
  readonly marks: readonly Mark[];
}

export interface Argument {
  readonly keyword: Name | undefined;
  readonly value: Expression;
  readonly span: TextSpan;
}

/** A word after a call that changes how the layer is trained: `frozen`, `recompute`, `precision=fp32`. */
export interface Mark {
  readonly name: Name;
  /** What follows `=`. */
  readonly value: Name | undefined;
}

export type Expression =
  | { readonly kind: 'number'; readonly value: number; readonly span: TextSpan }
  | { readonly kind: 'boolean'; readonly value: boolean; readonly span: TextSpan }
  | { readonly kind: 'none'; readonly span: TextSpan }
  | { readonly kind: 'string'; readonly value: string; readonly span: TextSpan }
  | { readonly kind: 'name'; readonly name: string; readonly span: TextSpan }
  /** `lstm.h_n`, one output of a layer. */
  | { readonly kind: 'member'; readonly object: Name; readonly member: Name; readonly span: TextSpan }
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
