/** Matches the arguments of a call with the parameters of a definition, as Python does, and checks their kinds. */

import type { Argument, Expression, LayerCall } from '../../formats/layer-spec/syntax.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import { didYouMean, nearestName } from '../../model/nearestName.ts';
import { whatIsWrong } from './checkArgument.ts';
import { evaluate, layerIn, type Values } from './evaluate.ts';
import type { ParameterDefinition, SpecValue } from './layerDefinition.ts';

export interface BoundArgument {
  readonly value: SpecValue;
  readonly span: TextSpan;
}

export interface Signature {
  /** As PyTorch prints it. */
  readonly text: string;
  readonly parameters: readonly ParameterDefinition[];
}

/** Where a call stands. */
interface Place {
  readonly values: Values;
  readonly report: (issue: Issue) => void;
}

/**
 * The arguments by parameter name, or `undefined` where a required one is missing or wrong; issues say which.
 *
 * Positional arguments fill PyTorch's order. Where that leaves a required parameter empty, sizes that follow from
 * the input are passed over: `Conv2d(64, kernel_size=3)` has 64 output channels.
 */
export function bindArguments(
  { callee }: LayerCall,
  given: readonly Argument[],
  signature: Signature,
  place: Place,
): ReadonlyMap<string, BoundArgument> | undefined {
  const binding = new Binding(callee.text, signature, place);
  const named = given.filter((argument) => argument.keyword !== undefined);
  const positional = given.filter((argument) => argument.keyword === undefined);
  binding.bindNamed(named);
  binding.bindPositional(positional, named[0]?.span.start ?? Number.POSITIVE_INFINITY);
  return binding.complete(callee.span);
}

/** Arguments while they are matched, written in place. */
class Binding {
  private readonly bound = new Map<string, BoundArgument>();
  /** Parameters whose arguments are wrong. */
  private readonly failed = new Set<string>();
  /** Names that keywords fill, as written and as meant. */
  private readonly filled = new Set<string>();

  constructor(
    private readonly callee: string,
    private readonly signature: Signature,
    private readonly place: Place,
  ) {}

  bindNamed(named: readonly Argument[]): void {
    for (const argument of named) {
      const { keyword } = argument;
      if (keyword === undefined) continue;
      const parameter = this.signature.parameters.find(({ name }) => name === keyword.text);
      this.filled.add(keyword.text);
      if (parameter === undefined) this.bindMisspelt(argument, keyword, named);
      else if (this.isMet(parameter)) this.problem(`\`${keyword.text}\` is given twice`, argument.span);
      else this.accept(parameter, argument.value, argument.span);
    }
  }

  /** A keyword that no parameter has is read as the one that was meant, so that nothing else seems wrong because of it. */
  private bindMisspelt(
    argument: Argument,
    keyword: Exclude<Argument['keyword'], undefined>,
    named: readonly Argument[],
  ): void {
    const { parameters, text } = this.signature;
    const names = parameters.map(({ name }) => name);
    const hint = didYouMean(keyword.text, names) || `; it is ${text}`;
    this.problem(`${this.callee} has no argument \`${keyword.text}\`${hint}`, keyword.span);
    const meant = nearestName(keyword.text, names);
    const near = parameters.find(({ name }) => name === meant);
    const isFree = named.every((other) => other.keyword?.text !== meant);
    if (near === undefined || !isFree || this.filled.has(near.name)) return;
    this.filled.add(near.name);
    this.accept(near, argument.value, argument.span);
  }

  /** `firstNamed`: where the first argument with a keyword begins. */
  bindPositional(positional: readonly Argument[], firstNamed: number): void {
    const order = orderOf(this.signature.parameters, positional.length, this.filled);
    for (const [index, argument] of positional.entries()) {
      const parameter = order[index];
      if (argument.span.start > firstNamed) this.problem(needsName(parameter), argument.span);
      if (parameter === undefined) {
        const most = `${this.callee} takes at most ${order.length} arguments here`;
        this.problem(`${most}; it is ${this.signature.text}`, argument.span);
        return;
      }
      if (this.isMet(parameter)) {
        this.problem(`\`${parameter.name}\` is given twice`, argument.span);
        continue;
      }
      const last = positional.at(-1);
      if (parameter.rest && last !== undefined && last !== argument) {
        const span = { start: argument.span.start, end: last.span.end };
        const items = positional.slice(index).map((item) => item.value);
        this.accept(parameter, { kind: 'tuple', items, span }, span);
        return;
      }
      this.accept(parameter, argument.value, argument.span);
    }
  }

  /** All arguments, or `undefined` where one that is needed is missing or wrong. */
  complete(callee: TextSpan): ReadonlyMap<string, BoundArgument> | undefined {
    const missing = this.signature.parameters.filter(
      (parameter) => parameter.default === undefined && !parameter.follows && !this.bound.has(parameter.name),
    );
    for (const { name } of missing)
      if (!this.failed.has(name))
        this.problem(`${this.callee} needs \`${name}\`: ${this.signature.text}`, callee);
    return missing.length === 0 ? this.bound : undefined;
  }

  private isMet({ name }: ParameterDefinition): boolean {
    return this.bound.has(name) || this.failed.has(name);
  }

  private accept(parameter: ParameterDefinition, expression: Expression, span: TextSpan): void {
    const { values, report } = this.place;
    const layer = parameter.type === 'layer' ? layerIn(expression) : undefined;
    const value = layer ?? evaluate(expression, values, report);
    const wrong = value === undefined ? undefined : whatIsWrong(value, parameter);
    if (value !== undefined && wrong === undefined) this.bound.set(parameter.name, { value, span });
    else this.failed.add(parameter.name);
    if (wrong !== undefined) this.problem(`\`${parameter.name}\` ${wrong}`, expression.span);
  }

  private problem(message: string, span: TextSpan): void {
    this.place.report({ code: 'spec/argument', severity: 'error', message, span });
  }
}

function needsName(parameter: ParameterDefinition | undefined): string {
  const name = parameter === undefined ? '' : `, such as \`${parameter.name}=…\``;
  return `an argument behind a named one needs a name, as in Python; write it${name}`;
}

/** Parameters in the order in which `count` positional arguments fill them. */
function orderOf(
  parameters: readonly ParameterDefinition[],
  count: number,
  named: ReadonlySet<string>,
): readonly ParameterDefinition[] {
  const required = (parameter: ParameterDefinition, index: number) =>
    index >= count && parameter.default === undefined && !parameter.follows && !named.has(parameter.name);
  if (!parameters.some(required)) return parameters;
  return parameters.filter((parameter) => !parameter.follows);
}
