/** What the pointer shows on a word of a layer spec: what it means, its value, where it is used, what it costs. */

import { modelAt } from '../../formats/layer-spec/selectModel.ts';
import type { Argument, LayerCall, SpecLayer } from '../../formats/layer-spec/syntax.ts';
import { evaluate } from '../../lowering/layer-spec/evaluate.ts';
import { printValue } from '../../lowering/layer-spec/layerDefinition.ts';
import { printDimension } from '../../model/dimension.ts';
import type { TextSpan } from '../../model/issue.ts';
import { type Hover, hoverLine } from '../hover.ts';
import { type ModelView, rowAtLine, viewAtLine } from '../modelView.ts';
import { positionAt, rangeOfSpan } from '../textLines.ts';
import { callableBlock, describeCallable, findCallable } from './callable.ts';
import { dimensionValues } from './dimensionValues.ts';
import { hoverScenario } from './hoverScenario.ts';
import type { SpecName } from './nameTable.ts';
import { parameterAt } from './parameterAt.ts';
import { nameAt, namesOfSpec } from './specNames.ts';
import { blocksOf, calledLayers, holds, placedLayers, type SpecText } from './specText.ts';

/** `undefined` where the word says nothing of its own; a layer's line then shows its cost. */
export function hoverLayerSpec(
  document: SpecText,
  view: ModelView | undefined,
  offset: number,
): Hover | undefined {
  const hovers = new Hovers(document, view);
  const found = hovers.at(offset);
  if (found === undefined) return undefined;
  return {
    markdown: found.parts.filter((part) => part !== '').join('\n\n'),
    range: rangeOfSpan(document.text, found.span),
  };
}

interface Found {
  readonly parts: readonly string[];
  readonly span: TextSpan;
}

class Hovers {
  constructor(
    private readonly document: SpecText,
    private readonly view: ModelView | undefined,
  ) {}

  at(offset: number): Found | undefined {
    const { spec, source } = this.document;
    const named = nameAt(namesOfSpec(this.document), offset);
    if (named !== undefined) {
      const { name, span } = named;
      // The name of an argument says most by its own documentation.
      return { parts: this.ofName(name, span), span };
    }
    const placed = calledLayers(spec).find(({ layer }) => holds(layer.span, offset));
    if (placed === undefined) {
      const word = hoverScenario(this.document, offset);
      return word === undefined ? undefined : { parts: [word.markdown], span: word.span };
    }
    const { layer, block, call } = placed;
    const { callee } = call;
    if (holds(callee.span, offset)) {
      const callable = findCallable(this.document, callee.text);
      if (callable === undefined) return undefined;
      return { parts: [describeCallable(callable), this.costOf(layer)], span: callee.span };
    }
    const argument = call.arguments.find(({ span }) => holds(span, offset));
    if (argument !== undefined) return this.ofArgument(call, argument, block?.name.text);
    const word = /^input\b/.exec(source.slice(source.lastIndexOf('input', offset)));
    const start = source.lastIndexOf('input', offset);
    if (word === null || block === undefined || offset > start + word[0].length) return undefined;
    return {
      parts: [`\`input\`: the input of block \`${block.name.text}\``],
      span: { start, end: start + word[0].length },
    };
  }

  private ofName(name: SpecName, place: TextSpan): readonly string[] {
    const { spec, source } = this.document;
    const isDefinition = name.definitions.includes(place);
    const written = source.slice(name.whole.start, name.whole.end);
    switch (name.kind) {
      case 'dimension':
        return [this.block([this.dimensionText(name, place), ...this.usesOf(name)])];
      case 'parameter':
        return [
          this.block([
            `${written.replace(/\s+/g, ' ')}: parameter of block ${name.block ?? ''}`,
            ...this.usesOf(name),
          ]),
        ];
      case 'input':
        return [this.block([written, ...this.usesOf(name)])];
      case 'block': {
        const block = blocksOf(spec).find((candidate) => candidate.name.text === name.text);
        const calls = calledLayers(spec).filter((placed) => placed.call.callee.text === name.text);
        const [call] = calls;
        const cost = call === undefined || (!isDefinition && calls.length > 1) ? '' : this.costOf(call.layer);
        return [
          ...(block === undefined ? [] : [describeCallable(callableBlock(block, source))]),
          ...(calls.length === 1 ? [cost] : [this.block(this.usesOf(name))]),
        ];
      }
      case 'layer': {
        const placed = placedLayers(spec).find(({ layer }) => layer.name.span.start === name.whole.start);
        if (placed === undefined) return [];
        const callable = findCallable(this.document, placed.layer.call?.callee.text ?? '');
        const cost = this.costOf(placed.layer);
        if (isDefinition) return [cost || this.block([written]), callable?.documentation ?? ''];
        return [this.block([written, ...this.shapeOf(placed.layer)]), cost];
      }
    }
  }

  private ofArgument(call: LayerCall, argument: Argument, block: string | undefined): Found | undefined {
    const { source } = this.document;
    const callable = findCallable(this.document, call.callee.text);
    if (callable === undefined) return undefined;
    const parameter = parameterAt(callable, call, argument, source);
    if (parameter === undefined) return undefined;
    const type = parameter.type === 'any' ? '' : `: ${parameter.type}`;
    const otherwise = parameter.default === undefined ? '' : ` = ${parameter.default}`;
    return {
      parts: [
        `\`\`\`python\n${parameter.name}${type}${otherwise}\n\`\`\``,
        [parameter.documentation, parameter.follows ? 'Optional; inferred from the input.' : '']
          .filter((part) => part !== '')
          .join(' '),
        this.valueOf(argument, block),
      ],
      span: argument.span,
    };
  }

  /** `4*d = 3072`, where an expression says less than its value. */
  private valueOf({ value }: Argument, block: string | undefined): string {
    if (
      value.kind === 'number' ||
      value.kind === 'boolean' ||
      value.kind === 'string' ||
      value.kind === 'none'
    )
      return '';
    // Parameters of a block have another value in every call.
    if (
      block !== undefined &&
      blocksOf(this.document.spec).some(
        ({ name, parameters }) => name.text === block && parameters.length > 0,
      )
    )
      return '';
    const found = evaluate(value, this.values(value.span), () => {});
    if (found === undefined) return '';
    const { start, end } = value.span;
    return `\`${this.document.source.slice(start, end)}\` = ${printValue(found)}`;
  }

  private dimensionText({ text, whole, definitions }: SpecName, place: TextSpan): string {
    const given = this.scenarioValues(place)?.[text];
    const own = dimensionValues(this.document.spec, {}, this.modelAt(place)).get(text);
    const value = given ?? own;
    const written = this.document.source.slice(whole.start, whole.end).replace(/^[^:]*:?\s*/, '');
    // Models that differ in it each write it in their own way.
    const isOne = definitions.length === 1;
    const expression = isOne && written !== '' && written !== String(own) ? ` = ${written}` : '';
    const origin = given !== undefined && given !== own ? ', set by the scenario' : '';
    return `${text}${expression} = ${value ?? '?'}${value === undefined ? ', no value' : origin}`;
  }

  /** Values of dims in the model that a place belongs to. */
  private values(place: TextSpan): ReadonlyMap<string, number> {
    return dimensionValues(this.document.spec, this.scenarioValues(place), this.modelAt(place));
  }

  private scenarioValues({ start }: TextSpan): Readonly<Record<string, number>> | undefined {
    if (this.view === undefined) return undefined;
    const { line } = positionAt(this.document.text, start);
    return viewAtLine(this.view, line).estimate.scenario?.dimensions;
  }

  private modelAt({ start }: TextSpan): string | undefined {
    return modelAt(this.document.spec, start);
  }

  /** Names of the lines that use it, a few of them. */
  private usesOf({ references, kind }: SpecName): readonly string[] {
    if (references.length === 0) return ['', 'not used'];
    const { text } = this.document;
    const numbers = [...new Set(references.map(({ start }) => positionAt(text, start).line))];
    const names = numbers.map((line) => {
      const found = /^\s*(?:-\s*)?([^\s:]+)\s*:/.exec(text.lines[line] ?? '');
      return found?.[1] ?? `line ${line + 1}`;
    });
    const shown = names.slice(0, mostUses).join(', ');
    const more = names.length > mostUses ? ` and ${names.length - mostUses} more` : '';
    return ['', `${kind === 'block' ? 'called' : 'used'} by ${shown}${more}`];
  }

  private costOf(layer: SpecLayer): string {
    if (this.view === undefined) return '';
    return hoverLine(this.view, positionAt(this.document.text, layer.span.start).line);
  }

  private shapeOf(layer: SpecLayer): readonly string[] {
    if (this.view === undefined) return [];
    const { line } = positionAt(this.document.text, layer.span.start);
    const row = rowAtLine(viewAtLine(this.view, line), line);
    const output = row?.layers.at(-1)?.output;
    if (output?.shape === undefined || output.shape === null) return [];
    return [`output ${output.elementType}[${output.shape.map(printDimension).join(', ')}]`];
  }

  private block(lines: readonly string[]): string {
    return `\`\`\`text\n${lines.join('\n')}\n\`\`\``;
  }
}

const mostUses = 8;
