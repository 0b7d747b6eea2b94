/** Proposals in a layer spec, also on a line that is half written. */

import type { ParameterDefinition } from '../../analysis/layer-spec/layerDefinition.ts';
import { findLayer, layerDefinitions } from '../../analysis/layer-spec/layerDefinitions.ts';
import { findMark, markDefinitions } from '../../formats/layer-spec/marks.ts';
import { modelKeys, specKeys } from '../../formats/layer-spec/readLayerSpec.ts';
import { scenarioKeys } from '../../formats/layer-spec/readScenario.ts';
import type { FrameworkOption } from '../../frameworks/options.ts';
import { findFramework, frameworks } from '../../frameworks/registry.ts';
import { builtInClusters } from '../../hardware/clusters.ts';
import { type Dimension, printDimension } from '../../model/dimension.ts';
import { elementTypes } from '../../model/elementType.ts';
import { findingThresholds } from '../../model/findingThresholds.ts';
import type { Completion, CompletionKind } from '../completion.ts';
import { type ModelView, rowAtLine, viewAtLine } from '../modelView.ts';
import { positionAt } from '../textLines.ts';
import {
  type Callable,
  type CallableParameter,
  callableBlocks,
  callableLayer,
  describeCallable,
  findCallable,
  onnxOperators,
} from './callable.ts';
import { type CursorContext, cursorContext, type OpenCall } from './cursorContext.ts';
import { dimensionValues } from './dimensionValues.ts';
import { parameterOf } from './parameterAt.ts';
import type { FrameworkMapping } from './scenarioContext.ts';
import { snippetsAt } from './snippets.ts';
import { blocksOf, type SpecText } from './specText.ts';
import { inputsAt, layersAt, visibleTensors, visibleValues } from './visibleNames.ts';

/**
 * Proposals at `offset`, the best first. `view` is the last that was costed: it tells shapes, so that a size that
 * fits its input comes first.
 */
export function completeLayerSpec(
  document: SpecText,
  offset: number,
  view: ModelView | undefined,
): readonly Completion[] {
  const context = cursorContext(document.source, offset);
  if (context === undefined) return [];
  const { line } = positionAt(document.text, offset);
  const proposer = new Proposer(document, context, view && viewAtLine(view, line));
  return proposer.propose();
}

class Proposer {
  constructor(
    private readonly document: SpecText,
    private readonly context: CursorContext,
    private readonly view: ModelView | undefined,
  ) {}

  propose(): readonly Completion[] {
    const { place } = this.context;
    switch (place.kind) {
      case 'top-level-key':
        return [...this.keys(specKeys), ...this.snippets()];
      case 'model-key':
        return this.keys(modelKeys);
      case 'layer-start':
        return this.snippets();
      case 'callee':
        return this.callees();
      case 'argument':
        return this.argument(place);
      case 'after-call':
        return this.afterCall(place.hasSources, place.marks);
      case 'mark-value':
        return (findMark(place.mark)?.values ?? []).map((value) => this.plain(value, 'value', '', ''));
      case 'source-output':
        return this.outputsOf(place.source);
      case 'repetition':
      case 'dimension-value':
      case 'input-size':
        return this.dimensions(undefined);
      case 'source':
        return this.tensors(place.taken);
      case 'output':
        return this.tensors(place.taken).filter(({ detail }) => !detail.startsWith('what '));
      case 'element-type':
        return this.elementTypes();
      case 'scenario-key':
        return this.scenarioKeys();
      case 'scenario-value':
        return this.scenarioValues(place.key, place.value);
      case 'framework-key':
        return this.frameworkKeys(place);
      case 'framework-value':
        return this.frameworkValues(place.key, place.framework);
    }
  }

  private keys(known: readonly SpecKey[]): readonly Completion[] {
    const { spec } = this.document;
    const body = spec.models.find(({ name }) => name.text === this.context.model) ?? spec;
    const present = new Set(body.sections.map(({ key }) => key.text));
    return known
      .filter((key) => !present.has(key))
      .map((key) => ({ ...this.plain(key, 'key', '', keyDocumentation[key]), insert: `${key}:` }));
  }

  private snippets(): readonly Completion[] {
    const { lineStart, span } = this.context;
    const dashed = /-\s*$/.test(this.document.source.slice(lineStart, span.start));
    return snippetsAt(this.context.place.kind).map(({ name, documentation, body }) => ({
      label: name,
      kind: 'snippet',
      detail: documentation,
      documentation: `\`\`\`yaml\n${body.replace(/\$\{?\d+:?([^}]*)\}?/g, '$1').trimEnd()}\n\`\`\``,
      insert: dashed ? body.replace(/^- /, '') : body,
      snippet: true,
      span,
    }));
  }

  /** Blocks of the file, then layers whose rank fits the input, then the other layers, then ONNX operators. */
  private callees(): readonly Completion[] {
    const blocks = callableBlocks(this.document).filter(({ name }) => name !== this.context.block);
    const layers = layerDefinitions.map(callableLayer);
    const rank = this.inputShape()?.length;
    const fits = ({ name }: Callable): boolean => {
      const axes = /([123])d$/.exec(name)?.[1];
      return axes === undefined || rank === undefined || Number(axes) + 2 === rank;
    };
    const named = new Set([...blocks, ...layers].map(({ name }) => name));
    const ordered = [
      ...blocks,
      ...layers.filter(fits),
      ...layers.filter((layer) => !fits(layer)),
      ...onnxOperators().filter(({ name }) => !named.has(name)),
    ];
    const hasArguments = /^\s*\w*\s*\(/.test(this.context.after);
    return ordered.map((callable): Completion => {
      const base = this.plain(callable.name, callable.kind, callable.signature, describeCallable(callable));
      if (hasArguments) return base;
      const takesNone =
        callable.kind !== 'operator' && !callable.takesMoreTensors && !needsArguments(callable);
      return takesNone
        ? { ...base, insert: `${callable.name}()` }
        : { ...base, insert: `${callable.name}($0)`, snippet: true, asksForArguments: true };
    });
  }

  private argument(open: OpenCall): readonly Completion[] {
    const callable = findCallable(this.document, open.callee);
    const parameter = callable === undefined ? undefined : parameterOf(callable, open);
    const { source } = this.document;
    const owner = /([\p{L}_][\p{L}\p{N}_]*)\.$/u.exec(source.slice(0, this.context.span.start))?.[1];
    if (owner !== undefined) {
      return parameter?.type === 'layer' ? this.layersInside(owner) : this.outputsOf(owner);
    }
    const takesTensor =
      open.keyword === undefined &&
      callable !== undefined &&
      (callable.kind === 'operator' ||
        open.positional.length < callable.tensors.length ||
        (callable.takesMoreTensors && open.keywords.length === 0));
    const tensors = takesTensor ? this.tensors(open.positional) : [];
    const layers = parameter?.type === 'layer' ? this.tensors([]) : [];
    const values = parameter === undefined ? [] : this.valuesOf(parameter, open.nested);
    const numbers =
      parameter === undefined || takesNumbers.has(parameter.type) ? this.dimensions(parameter) : [];
    const keywords =
      open.keyword !== undefined || open.nested || callable === undefined
        ? []
        : this.keywords(callable, open);
    // A size that is still to be written comes first; where all that must be given is given, names of options do.
    const required = parameter !== undefined && parameter.default === undefined;
    return required || open.keyword !== undefined
      ? [...tensors, ...layers, ...values, ...numbers, ...keywords]
      : [...tensors, ...layers, ...keywords, ...values, ...numbers];
  }

  private keywords(callable: Callable, open: OpenCall): readonly Completion[] {
    const filled = new Set(open.keywords);
    const positional = open.positional.length - callable.tensors.length;
    return callable.parameters
      .filter(({ name, rest }, index) => !filled.has(name) && !rest && index >= positional)
      .map((parameter) => ({
        ...this.plain(`${parameter.name}=`, 'argument', detailOf(parameter), parameter.documentation),
        insert: this.context.after.startsWith('=') ? parameter.name : `${parameter.name}=`,
      }));
  }

  private valuesOf(parameter: CallableParameter, nested: boolean): readonly Completion[] {
    const words: readonly string[] = nested
      ? []
      : parameter.type === 'boolean'
        ? parameter.default === 'True'
          ? ['False', 'True']
          : ['True', 'False']
        : parameter.type === 'padding'
          ? ["'same'", "'valid'"]
          : parameter.choices.length > 0
            ? parameter.choices.map((choice) => `'${choice}'`)
            : parameter.default === 'None'
              ? ['None']
              : [];
    const inQuotes = this.document.source.slice(0, this.context.span.start).endsWith("'");
    const about = `${parameter.name}: ${parameter.documentation}`;
    const actual = parameter.follows ? this.followedSize(parameter.name) : undefined;
    return [
      ...(actual === undefined || nested
        ? []
        : [this.plain(String(actual), 'value', 'size of the input', about)]),
      ...words.map((word) => ({
        ...this.plain(word, 'value', word === parameter.default ? 'default' : '', about),
        insert: inQuotes ? word.replaceAll("'", '') : word,
      })),
    ];
  }

  /** Dims and block parameters; those whose value is the size the parameter must have come first. */
  private dimensions(parameter: CallableParameter | undefined): readonly Completion[] {
    const values = dimensionValues(
      this.document.spec,
      this.view?.estimate.scenario?.dimensions,
      this.view?.part?.name,
    );
    const actual = parameter?.follows ? this.followedSize(parameter.name) : undefined;
    const names = visibleValues(this.document.spec, this.context);
    const matches = (name: string): boolean => actual !== undefined && values.get(name) === actual;
    const own = this.definedHere();
    const [leading] = inputsAt(this.document.spec, this.context)[0]?.dimensions ?? [];
    // No layer has the batch for a size.
    const isBatch = (name: string): boolean =>
      parameter !== undefined && leading?.kind === 'name' && leading.name === name;
    const rank = (name: string): number => (matches(name) ? 0 : isBatch(name) ? 2 : 1);
    return names
      .toSorted((left, right) => rank(left) - rank(right))
      .filter((name) => name !== own)
      .map((name) => {
        const value = values.get(name);
        const detail = value === undefined ? '' : String(value);
        return this.plain(name, 'dimension', matches(name) ? `${detail}, size of the input` : detail, '');
      });
  }

  /** The dimension that this line defines, which cannot stand in its own value. */
  private definedHere(): string | undefined {
    if (this.context.place.kind !== 'dimension-value') return undefined;
    const line = this.document.source.slice(this.context.lineStart, this.context.span.start);
    return /([\p{L}_][\p{L}\p{N}_]*)\s*:[^:]*$/u.exec(line)?.[1];
  }

  private tensors(taken: readonly string[]): readonly Completion[] {
    const { spec, source, text } = this.document;
    const shown = new Set(taken);
    return visibleTensors(source, spec, this.context, this.context.lineStart)
      .filter(({ name }) => !shown.has(name))
      .map(({ name, detail, start }) => {
        const shape = start === undefined ? undefined : this.shapeOfLine(positionAt(text, start).line);
        return this.plain(
          name,
          'tensor',
          shape === undefined ? detail : `${detail} → ${printShape(shape)}`,
          '',
        );
      });
  }

  private elementTypes(): readonly Completion[] {
    const common = ['float32', 'int64', 'bool'];
    const types = elementTypes.filter((type) => type !== 'undefined' && type !== 'string');
    const first = common.filter((type) => types.some((known) => known === type));
    return [...first, ...types.filter((type) => !common.includes(type))].map((type) => ({
      ...this.plain(type, 'value', 'element type', ''),
      ...(this.context.after.startsWith('[') ? {} : { insert: `${type}[$0]`, snippet: true as const }),
    }));
  }

  private scenarioKeys(): readonly Completion[] {
    const { spec } = this.document;
    const body = spec.models.find(({ name }) => name.text === this.context.model) ?? spec;
    const written = new Set(body.scenarioSpans.keys());
    return Object.entries(scenarioKeys)
      .filter(([key]) => !written.has(key))
      .map(([key, { documentation }]) => ({
        ...this.plain(key, 'key', '', documentation),
        insert: `${key}: `,
      }));
  }

  private scenarioValues(key: string, value: string): readonly Completion[] {
    if (key === 'cluster') {
      return builtInClusters.map(({ name, title, gpu, gpusPerNode }) =>
        this.plain(
          name,
          'value',
          title,
          name === gpu.name ? 'One GPU by itself.' : `${gpusPerNode.value} × ${gpu.title} per node.`,
        ),
      );
    }
    if (key === 'framework') return this.frameworkParts(value);
    if (key === 'thresholds') return this.thresholds(value);
    if (key === 'gpus' || key === 'nodes' || key === 'batch') return [];
    const known = Object.entries(scenarioKeys).find(([name]) => name === key)?.[1];
    return known === undefined || typeof known.kind === 'string'
      ? []
      : known.kind.map((choice) => this.plain(choice, 'value', '', known.documentation));
  }

  /** Names of thresholds that are not set yet: `exposed-communication=0.1,low-efficiency=0.5`. */
  private thresholds(value: string): readonly Completion[] {
    const parts = value.replace(/^['"]/, '').split(',');
    if (parts.at(-1)?.includes('=')) return [];
    const given = new Set(parts.map((part) => part.split('=')[0]?.trim()));
    return Object.entries(findingThresholds)
      .filter(([name]) => !given.has(name))
      .map(([name, { default: usual, documentation }]) => ({
        ...this.plain(name, 'argument', `default ${usual}`, documentation),
        insert: `${name}=`,
      }));
  }

  /** The usual value of an option, then the others where they can be listed. */
  private optionValues({ default: usual, documentation, expects }: FrameworkOption): readonly Completion[] {
    const others = (expects.choices ?? []).filter((choice) => choice !== usual);
    return [
      this.plain(usual, 'value', 'default', documentation),
      ...others.map((choice) => this.plain(choice, 'value', '', documentation)),
    ];
  }

  /** The name of a framework, then its options: `pytorch-ddp,bucket-mb=50`. */
  private frameworkParts(value: string): readonly Completion[] {
    const parts = value.replace(/^['"]/, '').split(',');
    if (parts.length === 1) return this.frameworkNames();
    const [name = ''] = parts;
    const framework = findFramework(name);
    const [started = '', ...values] = parts.at(-1)?.split('=') ?? [];
    if (values.length > 0) {
      const option = framework?.options.find((candidate) => candidate.name === started.trim());
      return option === undefined ? [] : this.optionValues(option);
    }
    const given = new Set(parts.slice(1, -1).map((part) => part.split('=')[0]?.trim()));
    return (framework?.options ?? [])
      .filter((option) => !given.has(option.name))
      .map((option) => ({
        ...this.plain(option.name, 'argument', `default ${option.default}`, option.documentation),
        insert: `${option.name}=`,
      }));
  }

  private frameworkNames(): readonly Completion[] {
    return frameworks.map(({ name, documentation }) => this.plain(name, 'value', '', documentation));
  }

  /** Keys of a framework as a mapping: its name, then its options. */
  private frameworkKeys({ framework, written }: FrameworkMapping): readonly Completion[] {
    const name = this.plain(
      'name',
      'key',
      '',
      'Which framework: a built-in one, or a file that describes one.',
    );
    const options = (findFramework(framework)?.options ?? []).map((option) =>
      this.plain(option.name, 'argument', `default ${option.default}`, option.documentation),
    );
    return [name, ...options]
      .filter(({ label }) => !written.includes(label) || label === this.context.word)
      .map((proposal) => ({ ...proposal, insert: `${proposal.label}: ` }));
  }

  private frameworkValues(key: string, framework: string): readonly Completion[] {
    if (key === 'name') return this.frameworkNames();
    const option = findFramework(framework)?.options.find(({ name }) => name === key);
    return option === undefined ? [] : this.optionValues(option);
  }

  private afterCall(hasSources: boolean, marks: readonly string[]): readonly Completion[] {
    const from = 'Takes its input from the layers named here, not from the one above.';
    return [
      ...(hasSources ? [] : [{ ...this.plain('from', 'key', '', from), insert: 'from ' }]),
      ...markDefinitions
        .filter(({ name }) => !marks.includes(name))
        .map(({ name, values, documentation }) => ({
          ...this.plain(name, 'key', '', documentation),
          insert: values === undefined ? name : `${name}=`,
        })),
    ];
  }

  /** The layers of the block that a layer calls, whose weights can be shared. */
  private layersInside(caller: string): readonly Completion[] {
    const callee = layersAt(this.document.spec, this.context).find(({ name }) => name.text === caller)?.call
      ?.callee.text;
    const block = blocksOf(this.document.spec).find(({ name }) => name.text === callee);
    return (block?.layers ?? []).map(({ name, call }) =>
      this.plain(name.text, 'tensor', `layer of ${callee}`, call?.written.trim() ?? ''),
    );
  }

  /** What a layer of several outputs gives, by name. */
  private outputsOf(source: string): readonly Completion[] {
    const { spec } = this.document;
    const layer = layersAt(spec, this.context).find(({ names }) => names.some(({ text }) => text === source));
    const callee = layer?.call?.callee.text ?? '';
    const block = blocksOf(spec).find(({ name }) => name.text === callee);
    const outputs = block?.outputs.map(({ text }) => text) ?? findLayer(callee)?.outputs ?? [];
    return outputs.map((name) => this.plain(name, 'tensor', `output of ${callee}`, ''));
  }

  private plain(label: string, kind: CompletionKind, detail: string, documentation: string): Completion {
    return { label, kind, detail, documentation, insert: label, span: this.context.span };
  }

  /** Shape of what flows into this line: the output of the layer above, or the first input of the model. */
  private inputShape(): readonly Dimension[] | undefined {
    const { spec, text } = this.document;
    const above = layersAt(spec, this.context).findLast(({ span }) => span.start < this.context.lineStart);
    if (above !== undefined) return this.shapeOfLine(positionAt(text, above.span.start).line);
    const [input] = inputsAt(spec, this.context);
    if (this.context.block !== undefined || input === undefined) return undefined;
    const values = dimensionValues(spec, this.view?.estimate.scenario?.dimensions, this.view?.part?.name);
    return input.dimensions.map((size) => {
      if (size.kind === 'number') return size.value;
      return (size.kind === 'name' ? values.get(size.name) : undefined) ?? 0;
    });
  }

  private shapeOfLine(line: number): readonly Dimension[] | undefined {
    if (this.view === undefined) return undefined;
    return rowAtLine(this.view, line)?.layers.at(-1)?.output.shape ?? undefined;
  }

  /** The size that a parameter such as `in_features` must have: channels are the second axis, features the last. */
  private followedSize(name: string): number | undefined {
    const shape = this.inputShape();
    const size = /channels|^num_features$/.test(name) ? shape?.[1] : shape?.at(-1);
    return typeof size === 'number' && size > 0 ? size : undefined;
  }
}

const takesNumbers: ReadonlySet<ParameterDefinition['type']> = new Set([
  'integer',
  'number',
  'integers',
  'padding',
  'dimension',
  'dimensions',
  'any',
] as const);

const printShape = (shape: readonly Dimension[]): string => `[${shape.map(printDimension).join(', ')}]`;

const needsArguments = ({ parameters, tensors }: Callable): boolean =>
  tensors.length > 1 || parameters.some((parameter) => parameter.default === undefined);

function detailOf({ type, default: value, follows }: CallableParameter): string {
  const kind = type === 'any' ? '' : type;
  if (follows) return `${kind}, follows from the input`;
  return value === undefined ? `${kind}, required`.replace(/^, /, '') : `${kind} = ${value}`.trim();
}

type SpecKey = (typeof specKeys)[number];

const keyDocumentation: Readonly<Record<SpecKey, string>> = {
  name: 'Name of the model.',
  include: 'Files whose blocks can be called here, as paths relative to this file.',
  models:
    'Several models in one file: each a name, and the keys in which it differs from what stands beside it.',
  dims: 'Sizes with names, such as `d: 768`; a value may be an expression over the others.',
  inputs: 'What the model is given: a name, an element type and a shape, such as `int64[batch, seq]`.',
  blocks: 'Lists of layers that are used more than once.',
  layers: 'The layers in order, each one call.',
  outputs: 'Layers whose outputs leave the model; the last one where this is left out.',
  scenario: 'Where the model is trained; goes before the settings.',
};
