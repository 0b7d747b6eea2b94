/** What names mean at one place of a model that is being lowered. */

import type { Name, Reference, SpecLayer } from '../../formats/layer-spec/syntax.ts';
import type { LayerMarks } from '../../model/graph.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import { didYouMean } from '../../model/nearestName.ts';
import { recentKeys } from '../../model/recentKeys.ts';
import type { Home } from './blockTable.ts';
import type { Values } from './evaluate.ts';
import type { Tensor } from './layerDefinition.ts';

/** What a layer or input gives: one tensor or several, which may have names. */
export interface Outputs {
  readonly tensors: readonly Tensor[];
  /** Aligned with `tensors` as far as they have names. */
  readonly names: readonly string[];
}

export interface Scope {
  readonly home: Home;
  /** Dims, and the parameters of the block. */
  readonly values: Values;
  readonly tensors: Map<string, Outputs>;
  readonly weights: Map<string, ReadonlyMap<string, Tensor>>;
  /** The top level of the same file, whose tensors a block can name too. */
  readonly outer: Scope | undefined;
  /** The list of layers that is being lowered, to tell a name that stands further down. */
  readonly layers: readonly SpecLayer[];
  /** Whether all inputs of the model are known; else a layer without one is no mistake of its own. */
  readonly hasAllInputs: boolean;
  /** Blocks being lowered, to find one that contains itself. */
  readonly blocks: readonly string[];
  /** Path of the enclosing block with a dot, or ''. */
  readonly prefix: string;
  readonly ancestors: readonly string[];
  readonly marks: LayerMarks;
  /** The line of the text that stands for what is lowered: inside an included file, the line that calls into it. */
  readonly line: TextSpan | undefined;
  readonly report: (issue: Issue) => void;
}

export const single = (tensor: Tensor): Outputs => ({ tensors: [tensor], names: [] });

/** Always `undefined`: what a caller gives on who goes without a value. */
export function reportError(scope: Scope, code: IssueCode, message: string, span: TextSpan): undefined {
  scope.report({ code, severity: 'error', message, span });
}

/** The tensor that `reference` names, or `undefined` after an issue. */
export function tensorOf(reference: Reference, scope: Scope): Tensor | undefined {
  const outputs = outputsNamed(reference, scope);
  if (outputs === undefined) return undefined;
  const { output } = reference;
  if (output === undefined) return outputs.tensors[0];
  const index = outputs.names.indexOf(output.text);
  if (index < 0) {
    const message =
      outputs.names.length === 0
        ? `the outputs of \`${reference.text}\` have no names; write \`${reference.text}\`, or name them where it is defined: \`- a, b: …\``
        : `\`${reference.text}\` gives ${outputs.names.join(', ')}, not \`${output.text}\`${didYouMean(output.text, outputs.names)}`;
    return reportError(scope, 'spec/unknown-source', message, output.span);
  }
  return outputs.tensors[index];
}

/** What a layer or input of this name gives, or `undefined` where there is none. */
export function lookUp(name: string, scope: Scope): Outputs | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    const outputs = at.tensors.get(name);
    if (outputs !== undefined) return outputs;
  }
  return undefined;
}

function outputsNamed(name: Name, scope: Scope): Outputs | undefined {
  const found = lookUp(name.text, scope);
  if (found !== undefined) return found;
  const below = layersByName(scope.layers).get(name.text);
  if (below !== undefined) {
    const isItself = below.span.start <= name.span.start && name.span.end <= below.span.end;
    const message = isItself
      ? `\`${name.text}\` cannot read itself; name a layer above it`
      : `\`${name.text}\` stands further down, and a layer reads only what is above it; move one of them`;
    return reportError(scope, 'spec/unknown-source', message, name.span);
  }
  const known: string[] = [];
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    known.push(...recentKeys(at.tensors));
  }
  const message = `no layer above or input is named \`${name.text}\`${didYouMean(name.text, known)}`;
  return reportError(scope, 'spec/unknown-source', message, name.span);
}

/** Of layers of one name the first. Made once for each list: every name of a text may be wrong. */
function layersByName(layers: readonly SpecLayer[]): ReadonlyMap<string, SpecLayer> {
  const known = named.get(layers);
  if (known !== undefined) return known;
  const byName = new Map<string, SpecLayer>();
  for (const layer of layers) {
    for (const { text } of layer.names) if (!byName.has(text)) byName.set(text, layer);
  }
  named.set(layers, byName);
  return byName;
}

const named = new WeakMap<readonly SpecLayer[], ReadonlyMap<string, SpecLayer>>();

export const isTensor = (name: string, scope: Scope): boolean => lookUp(name, scope) !== undefined;

/** Weights of a layer by the name of its line, to share them. */
export function weightsNamed(layer: string, scope: Scope): ReadonlyMap<string, Tensor> | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    const weights = at.weights.get(layer);
    if (weights !== undefined) return weights;
  }
  return undefined;
}

/** Why no `weight` of a layer can be shared: there is no such layer above, it has none, or it has many. */
export function whyNoWeight(layer: string, weight: string, scope: Scope): string {
  const [name = layer, inside] = layer.split('.');
  const known: string[] = [];
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    const call = layersByName(at.layers).get(name)?.call;
    const block = at.home.blocks.get(call?.callee.text ?? '')?.block;
    if (call !== undefined && block !== undefined) {
      const layers = block.layers.map((each) => each.name.text);
      if (call.repetition !== undefined) {
        return `\`${name}\` is repeated, and each repetition has weights of its own; move ${inside === undefined ? 'the layer' : `\`${inside}\``} out of block \`${block.name.text}\` to share one`;
      }
      if (inside === undefined) {
        const first = [...at.weights.keys()].find((each) => each.startsWith(`${name}.`));
        return `\`${name}\` is a block; name a layer inside it${first === undefined ? '' : `, such as \`${first}\``}`;
      }
      return layers.includes(inside)
        ? `\`${layer}\` has no \`${weight}\` to share, or stands further down`
        : `block \`${block.name.text}\` has no layer \`${inside}\`${didYouMean(inside, layers)}`;
    }
    for (const [each, weights] of at.weights) if (weights.has(weight)) known.push(each);
  }
  return `no layer above named \`${layer}\` has a \`${weight}\` to share${didYouMean(layer, known)}`;
}
