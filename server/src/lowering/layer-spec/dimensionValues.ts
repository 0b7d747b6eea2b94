/** The values of dims: numbers, or symbols where a dimension stays open until a scenario is costed. */

import type { SelectedModel } from '../../formats/layer-spec/selectModel.ts';
import type { SpecDimension } from '../../formats/layer-spec/syntax.ts';
import { expressionsOf } from '../../formats/layer-spec/walkSpec.ts';
import { symbol } from '../../model/dimension.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import { evaluate, namesIn, type Values } from './evaluate.ts';
import { printValue, type SpecValue } from './layerDefinition.ts';

export interface DimensionValues {
  readonly values: Values;
  /** Values of the dimensions that stay open, where they have one. */
  readonly symbolDefaults: ReadonlyMap<string, number>;
}

/**
 * Values of `dims`, which may depend on each other in any order. `overrides` win over what is written; the dimensions
 * in `open` are symbols, whatever is written is their default.
 */
export function dimensionValues(
  dims: readonly SpecDimension[],
  open: ReadonlySet<string>,
  overrides: ReadonlyMap<string, number>,
  report: (issue: Issue) => void,
): DimensionValues {
  const problem = (message: string, span: TextSpan, unset?: readonly string[]): void =>
    report({
      code: 'spec/dimension',
      severity: 'error',
      message,
      span,
      ...(unset === undefined ? {} : { unset }),
    });
  const values = new Map<string, SpecValue | undefined>();
  const symbolDefaults = new Map<string, number>();
  // A name is known before its value is, so that a dimension that failed is not taken for an unknown one.
  for (const { name } of dims) values.set(name.text, undefined);
  for (const { name, value } of inOrder(dims, problem)) {
    const given =
      overrides.get(name.text) ?? (value === undefined ? undefined : evaluate(value, values, report));
    if (given !== undefined && !isSize(given)) {
      const message = `\`${name.text}\` is ${printValue(given)}; a dimension is a whole number above 0`;
      problem(message, value?.span ?? name.span);
    } else if (open.has(name.text)) {
      values.set(name.text, symbol(name.text));
      if (typeof given === 'number') symbolDefaults.set(name.text, given);
    } else {
      if (given === undefined && value === undefined) {
        const message = `\`${name.text}\` has no value: write one here`;
        problem(message, name.span, [name.text]);
      }
      values.set(name.text, given);
    }
  }
  for (const name of open) {
    if (values.has(name)) continue;
    values.set(name, symbol(name));
    const override = overrides.get(name);
    if (override !== undefined) symbolDefaults.set(name, override);
  }
  return { values, symbolDefaults };
}

/**
 * Dimensions that stay open: names that stand alone in the type of an input, the leading one of the first input and
 * those whose value nothing else reads. `closed` are those whose value went into the graph.
 */
export function openDimensions(model: SelectedModel, closed: ReadonlySet<string>): ReadonlySet<string> {
  const alone: string[] = [];
  const used = new Set<string>();
  for (const input of model.inputs) {
    for (const size of input.dimensions) {
      if (size.kind === 'name') alone.push(size.name);
      else for (const name of namesIn(size)) used.add(name);
    }
  }
  for (const expression of expressionsOf(model)) for (const name of namesIn(expression)) used.add(name);
  const declared = new Set(model.dims.map((dim) => dim.name.text));
  const leading = model.inputs[0]?.dimensions[0];
  const first = leading?.kind === 'name' ? leading.name : undefined;
  // An undeclared name is only taken for a new symbol where a batch is expected; elsewhere it is a slip.
  const open = alone.filter((name) => name === first || (!used.has(name) && declared.has(name)));
  return new Set(open.filter((name) => !(closed.has(name) && declared.has(name))));
}

/** Each dimension after those it depends on. One that depends on itself is reported and left out. */
function inOrder(
  dims: readonly SpecDimension[],
  problem: (message: string, span: TextSpan) => void,
): readonly SpecDimension[] {
  const byName = new Map(dims.map((dim) => [dim.name.text, dim]));
  const ordered: SpecDimension[] = [];
  const done = new Set<SpecDimension>();
  const entered = new Set<SpecDimension>();
  // A stack of its own: a chain of dimensions can be as long as the text.
  const stack = [...dims].reverse();
  for (let dim = stack.at(-1); dim !== undefined; dim = stack.at(-1)) {
    if (done.has(dim)) {
      stack.pop();
      continue;
    }
    const needed =
      dim.value === undefined ? [] : namesIn(dim.value).flatMap((name) => byName.get(name) ?? []);
    const waiting = needed.filter((other) => !done.has(other));
    if (entered.has(dim) || waiting.length === 0) {
      stack.pop();
      done.add(dim);
      if (waiting.length === 0) ordered.push(dim);
      else {
        const through = waiting.map((other) => `\`${other.name.text}\``).join(', ');
        const message =
          waiting[0] === dim
            ? `\`${dim.name.text}\` depends on itself; write a number`
            : `\`${dim.name.text}\` depends on itself through ${through}; write a number for one of them`;
        problem(message, dim.value?.span ?? dim.name.span);
      }
      continue;
    }
    entered.add(dim);
    stack.push(...waiting.filter((other) => !entered.has(other)));
  }
  return ordered;
}

/** An open size is only known when a scenario is costed. */
const isSize = (value: SpecValue): boolean =>
  typeof value === 'number'
    ? Number.isSafeInteger(value) && value >= 1
    : typeof value === 'object' && value !== null && 'kind' in value;
