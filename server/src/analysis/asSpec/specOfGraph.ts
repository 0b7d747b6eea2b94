/**
 * A graph as the text of a layer spec: one line per layer in the order of execution, modules under headings, blocks that
 * repeat once with `* N`. Which operators each line stands for comes with it.
 */

import { isKnownShape } from '../../model/graph.ts';
import type { ModelAnalysis } from '../modelAnalysis.ts';
import { callsOfGraph, type GraphCalls } from './callsOfGraph.ts';
import { graphFacts } from './graphFacts.ts';
import { pathsOfCalls } from './pathOfCall.ts';
import { repeatedCalls } from './repeatedCalls.ts';
import { type SpecCall, valuesOf } from './specCall.ts';
import { nameItems, type SpecBlockItem, type SpecItem, type SpecNames, specItems } from './specItems.ts';
import { nameOfSymbol, sizeText, wordOf } from './specValues.ts';

export interface SpecOfGraph {
  readonly text: string;
  /** In order. */
  readonly lines: readonly SpecLine[];
  /** What keeps the text from being a layer spec, by line; empty where it is one. */
  readonly problems: readonly SpecProblem[];
}

export interface SpecLine {
  /** Counted from 0. */
  readonly line: number;
  readonly name: string;
  /** Where a heading or a block stands for the lines below it: the last of them. */
  readonly lastLine?: number;
  /** By repetition: indices of operators; one list where the line is not repeated. */
  readonly operators: readonly (readonly number[])[];
}

export interface SpecProblem {
  readonly line: number;
  readonly message: string;
}

/** Never throws; what a spec cannot say is shown in the words of ONNX and named in `problems`. */
export function specOfGraph(analysis: ModelAnalysis, name: string): SpecOfGraph {
  const { graph } = analysis;
  const facts = graphFacts(analysis);
  const calls = callsOfGraph(analysis.composites, facts);
  const paths = pathsOfCalls(calls, facts);
  const items = specItems(calls, paths, repeatedCalls(calls, graph.outputs));
  const inputs = new Map(graph.inputs.map((input, index) => [input, wordOf(input, `input${index}`)]));
  const printer = new Printer(calls, nameItems(items, calls.stored, inputs));
  printer.write(`name: ${JSON.stringify(name)}`);
  printer.printHead(analysis, inputs);
  const blocks = items.flatMap(({ block }) => block ?? []);
  if (blocks.length > 0) printer.write('', 'blocks:');
  for (const block of blocks) printer.printBlock(block);
  printer.write('', 'layers:');
  printer.printList(items, '  ', graph.inputs[0]);
  printer.printOutputs(graph.outputs);
  const { lines, rows, problems } = printer;
  return {
    text: `${lines.join('\n')}\n`,
    lines: rows.toSorted((left, right) => left.line - right.line),
    problems,
  };
}

class Printer {
  readonly lines: string[] = [];
  readonly rows: SpecLine[] = [];
  readonly problems: SpecProblem[] = [];
  private readonly calls: GraphCalls;
  private readonly names: SpecNames;
  /** What a block calls the tensors that it is given. */
  private given: ReadonlyMap<string, string> = new Map();
  private previous: string | undefined;
  private readonly printed = new Set<string>();
  /** Stored tensors that a block reads and the model holds once. */
  private readonly needed = new Map<SpecBlockItem, readonly string[]>();
  /** Names of layers by the weight that they use. */
  private readonly weights = new Map<string, string>();

  constructor(calls: GraphCalls, names: SpecNames) {
    this.calls = calls;
    this.names = names;
  }

  write(...lines: readonly string[]): void {
    this.lines.push(...lines);
  }

  printHead({ graph, symbols }: ModelAnalysis, inputs: ReadonlyMap<string, string>): void {
    if (symbols.length > 0) this.write('', 'dims:');
    for (const { name, default: value } of symbols) {
      this.write(`  ${nameOfSymbol(name)}:${value === undefined ? '' : ` ${value}`}`);
    }
    if (inputs.size > 0) this.write('', 'inputs:');
    for (const [input, name] of inputs) {
      const type = graph.values.get(input)?.type;
      const shape = type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : undefined;
      const sizes = shape?.map(sizeText) ?? [undefined];
      if (sizes.includes(undefined)) this.problem(`the sizes of the input ${input} are not known`);
      const elementType = type?.kind === 'tensor' ? type.elementType : 'float32';
      this.write(`  ${name}: ${elementType}[${sizes.map((size) => size ?? '?').join(', ')}]`);
    }
  }

  printBlock(block: SpecBlockItem): void {
    const { carried, outs, items, owned } = block;
    const nameOf = (value: string): string => this.nameOf(value);
    const ins = carried.map(({ gives }) => (carried.length === 1 ? 'input' : `${nameOf(gives)}_before`));
    const last = items.at(-1)?.call?.outputs[0];
    const from = carried.length === 1 ? '' : ` from ${ins.join(', ')}`;
    const to = outs.length === 1 && last === outs[0] ? '' : ` to ${outs.map(nameOf).join(', ')}`;
    const line = this.lines.length;
    const name = this.names.ofBlocks.get(block) ?? 'block';
    this.write(`  ${name}${from}${to}:`);
    const needed = this.storedOutside(items, owned);
    this.needed.set(block, needed);
    for (const value of needed) this.printed.add(value);
    this.given = new Map(carried.map(({ given }, index) => [given, ins[index] ?? 'input']));
    this.printList(items, '    ', carried[0]?.given);
    this.given = new Map();
    for (const value of needed) this.printed.delete(value);
    const operators = items.flatMap((item) => item.operators[0] ?? []);
    const all = items[0]?.operators.map((_, repetition) =>
      items.flatMap((item) => item.operators[repetition] ?? []),
    );
    this.rows.push({ line, name, lastLine: this.lines.length - 1, operators: all ?? [operators] });
  }

  /** Stored tensors that the lines of a block read, and that are not the block's own. */
  private storedOutside(items: readonly SpecItem[], owned: ReadonlySet<string>): readonly string[] {
    const outside = new Set<string>();
    const visit = (values: readonly string[]): void => {
      for (const value of values) {
        const call = this.calls.stored.get(value);
        if (call === undefined || outside.has(value)) continue;
        if (owned.has(value)) visit(valuesOf(call));
        else outside.add(value);
      }
    };
    for (const { call } of items) if (call !== undefined) visit(valuesOf(call));
    return [...outside];
  }

  /** `fed` is what the first line takes where it names nothing. */
  printList(items: readonly SpecItem[], indent: string, fed: string | undefined): void {
    this.previous = fed;
    this.printModules(items, indent, 0);
  }

  /** Lines of one module under a heading. */
  private printModules(items: readonly SpecItem[], indent: string, depth: number): void {
    for (let start = 0; start < items.length; ) {
      const part = items[start]?.path.module[depth];
      let end = start + 1;
      while (part !== undefined && items[end]?.path.module[depth] === part) end += 1;
      const group = items.slice(start, end);
      if (part === undefined || group.length === 1) for (const item of group) this.printItem(item, indent);
      else if (group.length === items.length) this.printModules(group, indent, depth + 1);
      else {
        let deeper = depth + 1;
        const sharesPart = (at: number): boolean => {
          const own = group[0]?.path.module[at];
          return own !== undefined && group.every(({ path }) => path.module[at] === own);
        };
        while (sharesPart(deeper)) deeper += 1;
        const line = this.lines.length;
        const module = group[0]?.path.module.slice(0, deeper).join('.') ?? '';
        this.write(`${indent}# ${module}`);
        this.printModules(group, indent, deeper);
        const repetitions = Math.max(...group.map(({ operators }) => operators.length));
        const operators = group.some(({ block }) => block !== undefined)
          ? [group.flatMap((item) => item.operators.flat())]
          : Array.from({ length: repetitions }, (_, at) => group.flatMap((item) => item.operators[at] ?? []));
        this.rows.push({ line, name: module, lastLine: this.lines.length - 1, operators });
      }
      start = end;
    }
  }

  private printItem(item: SpecItem, indent: string): void {
    if (item.call !== undefined) this.printCall(item.call, item.operators, indent);
    if (item.block !== undefined) this.printBlockCall(item.block, item.operators, indent);
  }

  private printBlockCall(
    block: SpecBlockItem,
    operators: readonly (readonly number[])[],
    indent: string,
  ): void {
    const { carried, outs, gives, count } = block;
    this.store(this.needed.get(block) ?? [], indent);
    const names = outs.map((out) => this.nameOf(gives.get(out) ?? ''));
    const isFed = carried.length === 1 && carried[0]?.given === this.previous;
    const from = isFed ? '' : ` from ${carried.map(({ given }) => this.nameOf(given)).join(', ')}`;
    const line = this.lines.length;
    this.rows.push({ line, name: names[0] ?? '', lastLine: line, operators });
    this.write(`${indent}- ${names.join(', ')}: ${this.names.ofBlocks.get(block)}() * ${count}${from}`);
    this.previous = gives.get(outs[0] ?? '');
  }

  /** Stored tensors that no line has given yet. */
  private store(values: readonly string[], indent: string): void {
    for (const value of values) {
      const call = this.calls.stored.get(value);
      if (call === undefined || this.printed.has(value)) continue;
      this.printCall(call, [call.operators], indent);
    }
  }

  private printCall(call: SpecCall, operators: readonly (readonly number[])[], indent: string): void {
    this.store(valuesOf(call), indent);
    const read = call.outputs.findLastIndex((output) => output !== '');
    const outputs = call.outputs.slice(0, Math.max(1, read + 1));
    const names = outputs.map((output, index) => (output === '' ? `unused_${index}` : this.nameOf(output)));
    if (call.problem !== undefined) this.problem(call.problem);
    const line = this.lines.length;
    const [name = ''] = names;
    if (operators.some(({ length }) => length > 0)) this.rows.push({ line, name, operators });
    this.write(`${indent}- ${names.join(', ')}: ${this.textOf(call, name)}`);
    for (const output of outputs) this.printed.add(output);
    this.previous = outputs[0];
  }

  private textOf(call: SpecCall, name: string): string {
    const given = call.inputs.map((input) =>
      input.kind === 'literal' ? input.text : this.nameOf(input.value),
    );
    const [first] = call.inputs;
    const isFed = call.inputs.length === 1 && first?.kind === 'tensor' && first.value === this.previous;
    const tied = call.weight === undefined ? undefined : this.weights.get(call.weight);
    if (call.weight !== undefined && tied === undefined) this.weights.set(call.weight, name);
    const settings = [...call.settings, ...(tied === undefined ? [] : [`weight=${tied}`])];
    const frozen = call.frozen ? ' frozen' : '';
    if (call.kind === 'module') {
      const from = isFed || given.length === 0 ? '' : ` from ${given.join(', ')}`;
      return `${call.callee}(${settings.join(', ')})${from}${frozen}`;
    }
    const tensors =
      call.callee === 'cat' ? [given.length === 1 ? `(${given[0]},)` : `(${given.join(', ')})`] : given;
    return `${call.callee}(${[...tensors, ...settings].join(', ')})${frozen}`;
  }

  printOutputs(outputs: readonly string[]): void {
    const isLast = outputs.length === 1 && outputs[0] === this.previous;
    for (const output of outputs) {
      if (!this.names.ofValues.has(output)) this.problem(`the output ${output} is no result of a layer`);
    }
    if (!isLast && outputs.length > 0) {
      this.write('', `outputs: [${outputs.map((output) => this.nameOf(output)).join(', ')}]`);
    }
  }

  private nameOf(value: string): string {
    return this.given.get(value) ?? this.names.ofValues.get(value) ?? wordOf(value, 'value');
  }

  /** About the line that is written next. */
  private problem(message: string): void {
    this.problems.push({ line: this.lines.length, message });
  }
}
