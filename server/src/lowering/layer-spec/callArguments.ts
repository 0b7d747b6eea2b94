/** What a call of a layer says: its inputs and arguments, and sizes that are checked against the inputs. */

import {
  type Dimension,
  equalDimensions,
  evaluateDimension,
  isSymbolic,
  symbolsOf,
} from '../../model/dimension.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import type { BoundArgument } from './bindArguments.ts';
import type { LayerDefinition, SpecValue, Tensor } from './layerDefinition.ts';
import { printShape } from './printShape.ts';

export interface CallSite {
  /** Path of the layer, such as `h[3].fc`. */
  readonly path: string;
  readonly callee: TextSpan;
  readonly inputs: readonly Tensor[];
  /** The leading dimension of the model's first input. */
  readonly batch: Dimension | undefined;
  /** Inputs given by keyword. */
  readonly namedInputs: ReadonlyMap<string, Tensor>;
  readonly bound: ReadonlyMap<string, BoundArgument>;
  /** Values of dimensions that stay open in the graph. */
  readonly symbolDefaults: ReadonlyMap<string, number>;
  /** Weights of a layer by the name its line gives it. */
  readonly weightsOf: (layer: string) => ReadonlyMap<string, Tensor> | undefined;
  /** What to say where the layer has no such weight. */
  readonly whyNoWeight: (layer: string, weight: string) => string;
  /** Receives the weights this layer makes. */
  readonly weights: Map<string, Tensor>;
  /** Whether its parameters are not trained. */
  readonly frozen: boolean;
  readonly report: (issue: Issue) => void;
  /** Told of every open dimension whose value went into the graph: it cannot stay open. */
  readonly pin: (dimension: string) => void;
}

/** Methods are those of `LayerLowering`. */
export class CallArguments {
  readonly inputs: readonly Tensor[];

  constructor(
    private readonly definition: LayerDefinition,
    protected readonly site: CallSite,
  ) {
    this.inputs = site.inputs;
  }

  input(name: string): Tensor | undefined {
    return this.site.namedInputs.get(name) ?? this.inputs[this.definition.inputs.names.indexOf(name)];
  }

  given(name: string): boolean {
    return this.site.bound.has(name);
  }

  value(name: string): SpecValue {
    const bound = this.site.bound.get(name);
    if (bound !== undefined) return bound.value;
    return this.definition.parameters.find((parameter) => parameter.name === name)?.default ?? null;
  }

  /** Kinds were checked when the arguments were bound; what is left is an open dimension without value. */
  number(name: string): number {
    const found = this.numberOf(this.value(name));
    if (found !== undefined) return found;
    this.problem('spec/dimension', `\`${name}\` needs a number; give the dimension a value under dims`, name);
    return Number.NaN;
  }

  integer(name: string): number {
    return this.number(name);
  }

  optionalInteger(name: string): number | undefined {
    return this.value(name) === null ? undefined : this.number(name);
  }

  integers(name: string, count: number): readonly number[] {
    const given = this.value(name);
    if (!Array.isArray(given)) return Array.from({ length: count }, () => this.number(name));
    if (given.length !== count) {
      const message = `\`${name}\` is one whole number or ${count}, not ${given.length}`;
      this.problem('spec/argument', message, name);
    }
    return Array.from(
      { length: count },
      (_, index) => this.numberOf(given[index] ?? given[0] ?? null) ?? Number.NaN,
    );
  }

  boolean(name: string): boolean {
    return this.value(name) === true;
  }

  string(name: string): string {
    return String(this.value(name));
  }

  size(name: string, actual: Dimension | undefined, what: string): number | undefined {
    const real = this.fixed(actual);
    const written = this.firstNumber(name);
    const input = `the input is ${printShape(this.inputs[0])}`;
    if (real !== undefined && written !== undefined && written !== real) {
      const message = `\`${name}\` is ${written}, but ${what} is ${real} (${input})`;
      this.problem('shape/mismatch', message, name);
    }
    if (real === undefined && written === undefined && this.inputs[0]?.shape !== undefined) {
      this.problem('spec/argument', `\`${name}\` cannot be taken from the input (${input}); write it`);
    }
    return real ?? written;
  }

  fixed(dimension: Dimension | undefined): number | undefined {
    if (dimension === undefined || typeof dimension === 'number') return dimension;
    if (!isSymbolic(dimension)) return undefined;
    for (const name of symbolsOf(dimension)) this.site.pin(name);
    const known = evaluateDimension(dimension, this.site.symbolDefaults);
    return typeof known === 'number' ? known : undefined;
  }

  checkBatchFirst(input: Tensor): void {
    const { batch, bound, callee, report } = this.site;
    const [first] = input.shape ?? [];
    if (this.value('batch_first') !== false || first === undefined || typeof first === 'number') return;
    if (batch === undefined || !equalDimensions(first, batch)) return;
    const message = `axis 0 of the input, ${printShape(input)}, is the batch, but ${this.definition.name} takes [sequence, batch, size]; write batch_first=True`;
    const span = bound.get('batch_first')?.span ?? callee;
    report({ code: 'spec/argument', severity: 'warning', message, span });
  }

  problem(code: IssueCode, message: string, argument?: string): undefined {
    const span = argument === undefined ? undefined : this.site.bound.get(argument)?.span;
    this.site.report({ code, severity: 'error', message, span: span ?? this.site.callee });
    return undefined;
  }

  private numberOf(item: SpecValue): number | undefined {
    if (typeof item === 'number') return item;
    return typeof item === 'object' && item !== null && 'kind' in item ? this.fixed(item) : undefined;
  }

  /** The first number of an argument that is given. */
  private firstNumber(name: string): number | undefined {
    const value = this.site.bound.get(name)?.value;
    if (value === undefined) return undefined;
    return this.numberOf(Array.isArray(value) ? (value[0] ?? null) : value);
  }
}
