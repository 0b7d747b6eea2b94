/**
 * Lowers a Caffe net in one phase to ONNX operators, so that the engine that costs ONNX files costs it too.
 *
 * Layers run in the order of the file. A layer that is wrong takes nothing else away: it becomes one operator that
 * nothing knows, and an issue stands at the word that is wrong.
 */

import { findMessage } from '../../formats/caffe/messages.ts';
import {
  type CaffeLayer,
  type CaffeNet,
  messageOf,
  messagesOf,
  numbersOf,
  spanOf,
  type Word,
  wasRefused,
  wordsOf,
} from '../../formats/caffe/syntax.ts';
import type { OnnxModel } from '../../formats/onnx/syntax.ts';
import { type Dimension, symbol, symbolsOf } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import { didYouMean } from '../../model/nearestName.ts';
import { recentKeys } from '../../model/recentKeys.ts';
import { GraphBuilder } from '../layer-spec/graphBuilder.ts';
import { type Tensor, text } from '../layer-spec/layerDefinition.ts';
import { caffeDomain, type ProvidedStructure } from '../providedStructure.ts';
import { any, type CaffeCall, type CaffeLayerDefinition } from './layerDefinition.ts';
import { caffeLayerEntries, findCaffeLayer } from './layerDefinitions.ts';
import { dataShapes, isDataLayer } from './layers/data.ts';
import { recurrentTypes } from './layers/recurrent.ts';
import type { NetInPhase } from './netState.ts';

export interface LoweredCaffe {
  readonly model: OnnxModel;
  readonly structure: ProvidedStructure;
  readonly issues: readonly Issue[];
  /** What a message about a node of the model underlines. */
  readonly spanOfNode: (node: number) => TextSpan | undefined;
}

/**
 * The model of `net` in a phase. The batch stays open; its default is what the data layer or the first input says.
 * `dimensions` gives sizes that the net leaves to its data: channels, height, width, features.
 */
export function lowerCaffe(
  net: CaffeNet,
  state: NetInPhase,
  dimensions: ReadonlyMap<string, number>,
): LoweredCaffe {
  return new Lowering(net, state, dimensions).run();
}

const batchName = 'batch';

/** A parameter that layers share by name. */
interface Shared {
  readonly tensor: Tensor;
  readonly dimensions: readonly number[];
}

class Lowering {
  private readonly graph = new GraphBuilder();
  private readonly issues: Issue[] = [];
  private readonly blobs = new Map<string, Tensor>();
  private readonly shared = new Map<string, Shared>();
  private readonly layers: readonly CaffeLayer[];
  private readonly names: ReadonlySet<string>;
  private readonly taken = new Map<string, number>();
  private readonly used = new Map<string, number>();
  private readonly missing = new Set<string>();
  /** Blobs nothing has read yet. */
  private readonly unread = new Map<string, Tensor>();
  /** Blobs that the layers of this phase, and those of all phases, write; found when the first is missed. */
  private topsOfPhase: ReadonlySet<string> | undefined;
  private topsOfNet: ReadonlySet<string> | undefined;
  private readonly nodeSpans: TextSpan[] = [];
  private readonly objectives: Tensor[] = [];
  private hasObjective = false;
  private readonly batchAxis: number;
  private batch: number | undefined;

  constructor(
    private readonly net: CaffeNet,
    private readonly state: NetInPhase,
    private readonly dimensions: ReadonlyMap<string, number>,
  ) {
    this.layers = state.layers;
    this.names = new Set(this.layers.map(({ name }) => name));
    this.batchAxis = this.layers.some(({ type }) => recurrentTypes.has(type)) ? 1 : 0;
  }

  run(): LoweredCaffe {
    this.sayStages();
    this.oldInputs();
    for (const layer of this.layers) this.layer(layer);
    const outputs =
      this.hasObjective && this.state.phase === 'TRAIN' ? this.objectives : [...this.unread.values()];
    const defaults = new Map(this.used);
    if (this.batch !== undefined) defaults.set(batchName, this.batch);
    return {
      model: this.graph.build(this.net.name, outputs),
      structure: {
        layers: this.graph.layers,
        roles: this.graph.roles,
        symbolDefaults: defaults,
        batchSymbol: batchName,
        reportedSymbols: this.missing,
        issues: [],
      },
      issues: this.issues,
      spanOfNode: (node) => this.nodeSpans[node],
    };
  }

  private sayStages(): void {
    const { assumedStages, phase } = this.state;
    if (assumedStages.length === 0) return;
    const message = `No data comes into the net in phase ${phase} unless the solver sets a stage: \`${assumedStages.join('`, `')}\` is assumed`;
    this.report('caffe/layer', message, undefined, 'information');
  }

  /** `input` with `input_shape` or four `input_dim` each (upgrade_proto.cpp, UpgradeNetInput). */
  private oldInputs(): void {
    const { fields } = this.net;
    const names = wordsOf(fields, 'input');
    const shapes = messagesOf(fields, 'input_shape').map((shape) => numbersOf(shape, 'dim'));
    const dims = numbersOf(fields, 'input_dim');
    if (names.length > 0 && shapes.length === 0 && dims.length !== 4 * names.length) {
      this.report(
        'caffe/layer',
        `${names.length} inputs need ${4 * names.length} \`input_dim\`, not ${dims.length}: give batch, channels, height and width of each`,
        spanOf(fields, 'input_dim') ?? names[0]?.span,
      );
    }
    for (const [index, name] of names.entries()) {
      const shape = shapes[index] ?? dims.slice(4 * index, 4 * index + 4);
      this.input(name, shape.length === 0 ? undefined : shape);
    }
  }

  private layer(layer: CaffeLayer): void {
    if (isDataLayer(layer.type)) {
      this.dataLayer(layer);
      return;
    }
    const definition = findCaffeLayer(layer.type);
    if (definition === undefined) this.unknownType(layer);
    const inputs = layer.bottoms.map((bottom) => this.blob(bottom));
    const start = this.graph.size;
    const name = this.uniqueName(layer.name || layer.type);
    const outputs =
      definition === undefined || !this.isComplete(layer, definition)
        ? undefined
        : this.lowered(layer, definition, name, inputs);
    const tensors = outputs ?? this.unlowered(layer, name, inputs);
    const nodes = Array.from({ length: this.graph.size - start }, (_, index) => start + index);
    for (const node of nodes) this.nodeSpans[node] = layer.typeSpan;
    this.graph.layers.push({
      name,
      type: layer.type,
      ancestors: this.ancestorsOf(name),
      nodes,
      span: layer.span,
    });
    // A loss need not name its top: Caffe gives it one.
    for (const [index, tensor] of tensors.entries()) {
      const top = layer.tops[index]?.text ?? `${name}:${index}`;
      this.blobs.set(top, tensor);
      this.unread.set(top, tensor);
      this.noteObjective(layer, definition, index, tensor);
    }
  }

  private noteObjective(
    layer: CaffeLayer,
    definition: CaffeLayerDefinition | undefined,
    top: number,
    tensor: Tensor,
  ): void {
    const weight = numbersOf(layer.fields, 'loss_weight')[top] ?? (definition?.isLoss && top === 0 ? 1 : 0);
    if (definition?.isLoss || weight !== 0) this.hasObjective = true;
    if (weight !== 0) this.objectives.push(tensor);
  }

  private lowered(
    layer: CaffeLayer,
    definition: CaffeLayerDefinition,
    name: string,
    inputs: readonly (Tensor | undefined)[],
  ): readonly Tensor[] | undefined {
    const known = inputs.filter((input) => input !== undefined);
    if (known.length < inputs.length) return undefined;
    const call = this.call(layer, definition, name, known);
    return definition.lower(call);
  }

  private call(
    layer: CaffeLayer,
    definition: CaffeLayerDefinition,
    name: string,
    inputs: readonly Tensor[],
  ): CaffeCall {
    const { graph } = this;
    const field = definition.parameters ?? '';
    const type = findMessage('LayerParameter')?.fields.get(field)?.type;
    const message = type?.kind === 'message' ? type.message : '';
    const parameters = messageOf(layer.fields, field) ?? {
      fields: new Map(),
      schema: findMessage(message)?.fields ?? new Map(),
      span: layer.typeSpan,
    };
    const problem = (code: IssueCode, message: string, span: TextSpan | undefined): undefined => {
      this.report(code, `${capitalized(message)}`, span ?? layer.typeSpan);
      return undefined;
    };
    return {
      layer,
      inputs,
      tops: Math.max(layer.tops.length, definition.tops[0], definition.isLoss ? 1 : 0),
      parameters,
      emit: (operator, tensors, attributes = {}) =>
        graph.node(name, '', operator, tensors, 1, attributes)[0] ?? nothing,
      emitMany: (operator, tensors, outputs, attributes = {}) =>
        graph.node(name, '', operator, tensors, outputs, attributes),
      weight: (index, suffix, dimensions) => this.weight(layer, name, index, suffix, dimensions),
      buffer: (suffix, dimensions) => graph.stored(`${name}.${suffix}`, 'buffer', dimensions),
      integers: (values) => graph.constant('int64', [values.length], values),
      scalar: (value, elementType = 'float32') => graph.constant(elementType, [], [value]),
      problem: (message, span) => problem('caffe/layer', message, span),
      missing: (field, what) =>
        wasRefused(parameters, field)
          ? undefined
          : problem('caffe/layer', `\`${field}\` is missing: ${what}`, spanOf(parameters, field)),
      mismatch: (message, span) => problem('shape/mismatch', message, span),
      unknown: (reason) => {
        this.reasons.set(layer, reason);
        this.report(
          'caffe/unknown-cost',
          `The cost of ${layer.type} is unknown: ${reason}`,
          layer.typeSpan,
          'warning',
        );
        return undefined;
      },
    };
  }

  /** Why layers are of unknown cost, where more is known than that. */
  private readonly reasons = new Map<CaffeLayer, string>();

  private weight(
    layer: CaffeLayer,
    path: string,
    index: number,
    suffix: string,
    dimensions: readonly number[],
  ): Tensor {
    const spec = layer.parameters[index];
    const before = spec === undefined || spec.name === '' ? undefined : this.shared.get(spec.name);
    if (before !== undefined && spec !== undefined) {
      if (before.dimensions.join() === dimensions.join()) return before.tensor;
      const same = count(before.dimensions) === count(dimensions);
      if (same && spec.permissive) {
        const target = this.graph.constant('int64', [dimensions.length], dimensions);
        return this.graph.node(path, '', 'Reshape', [before.tensor, target], 1, {})[0] ?? before.tensor;
      }
      this.report(
        'caffe/layer',
        `Parameter \`${spec.name}\` is [${before.dimensions.join(', ')}] where it is first used, but [${dimensions.join(', ')}] here: shared parameters have one shape`,
        spec.span,
      );
    }
    const role = spec?.learningRate === 0 ? 'frozen' : 'parameter';
    const tensor = this.graph.stored(`${path}.${suffix}`, role, dimensions);
    if (spec !== undefined && spec.name !== '' && before === undefined)
      this.shared.set(spec.name, { tensor, dimensions });
    return tensor;
  }

  private dataLayer(layer: CaffeLayer): void {
    const { shapes, remark, used, missing, problem } = dataShapes(layer, this.dimensions);
    if (problem !== undefined) this.report('caffe/layer', capitalized(problem.message), problem.span);
    if (remark !== undefined)
      this.report('caffe/data-shape', remark.message, layer.typeSpan, remark.severity);
    for (const name of missing) this.missing.add(name);
    for (const name of used) this.used.set(name, this.dimensions.get(name) ?? 0);
    for (const [index, top] of layer.tops.entries()) this.input(top, shapes[index]);
  }

  /** A graph input; its batch axis is open where it has the size of the first one's. */
  private input(top: Word, shape: readonly Dimension[] | undefined): void {
    if (shape === undefined) {
      this.blobs.set(top.text, { name: top.text, elementType: 'float32', shape: undefined });
      return;
    }
    const axis = shape.length > this.batchAxis ? this.batchAxis : 0;
    const size = shape[axis];
    this.batch ??= typeof size === 'number' ? size : undefined;
    const isBatch = size === this.batch || (typeof size !== 'number' && axis === 0);
    const opened = shape.map(
      (each, index): Dimension => (index === axis && isBatch ? symbol(batchName) : each),
    );
    this.blobs.set(top.text, this.graph.input(top.text, this.elementTypeOf(top.text), opened));
  }

  /** Class numbers and indices are integers, everything else is a number. */
  private elementTypeOf(blob: string): ElementType {
    const readers = this.layers.flatMap((layer) =>
      layer.bottoms.flatMap((bottom, index) => (bottom.text === blob ? [{ layer, index }] : [])),
    );
    const isIndex = readers.every(({ layer, index }) =>
      findCaffeLayer(layer.type)?.indexBottoms?.includes(index),
    );
    return readers.length > 0 && isIndex ? 'int64' : 'float32';
  }

  private blob(bottom: Word): Tensor | undefined {
    const found = this.blobs.get(bottom.text);
    this.unread.delete(bottom.text);
    if (found !== undefined) return found;
    this.topsOfPhase ??= topsOf(this.layers);
    this.topsOfNet ??= topsOf(this.net.layers);
    const below = this.topsOfPhase.has(bottom.text);
    const elsewhere = !below && this.topsOfNet.has(bottom.text);
    const why = below
      ? 'it is written by a layer below: move that up'
      : elsewhere
        ? `the layer that writes it is not in the net in phase ${this.state.phase}`
        : `no layer writes it${didYouMean(bottom.text, recentKeys(this.blobs))}`;
    this.report('caffe/unknown-blob', `Blob \`${bottom.text}\` is not known here: ${why}`, bottom.span);
    return undefined;
  }

  private isComplete(layer: CaffeLayer, definition: CaffeLayerDefinition): boolean {
    for (const [what, words, [least, most]] of [
      ['bottom', layer.bottoms, definition.bottoms],
      ['top', layer.tops, definition.tops],
    ] as const) {
      if (words.length >= least && words.length <= most) continue;
      const wanted = least === most ? `${least}` : most === any ? `at least ${least}` : `${least} to ${most}`;
      const many = wanted === '1' || wanted === 'at least 1' ? what : `${what}s`;
      this.report(
        'caffe/layer',
        `${layer.type} has ${wanted === '0' ? 'no' : wanted} ${many}, not ${words.length}`,
        words[most]?.span ?? layer.typeSpan,
      );
      return false;
    }
    return true;
  }

  private unknownType(layer: CaffeLayer): void {
    if (layer.fields.fields.has('layer')) {
      const message =
        "The layer is written in the oldest form: bring the net up to date with Caffe's upgrade_net_proto_text";
      this.report('caffe/layer', message, layer.nameSpan);
      return;
    }
    if (layer.type === '') {
      if (!wasRefused(layer.fields, 'type'))
        this.report('caffe/layer', 'The layer has no `type`: say what it computes', layer.nameSpan);
      return;
    }
    const known = caffeLayerEntries.map(({ type }) => type);
    const hint = didYouMean(layer.type, known);
    this.report(
      'caffe/unknown-layer',
      `\`${layer.type}\` is no layer of Caffe that is known here, so its cost is left out${hint}`,
      layer.typeSpan,
      'warning',
    );
  }

  /** Stands in for a layer that could not be lowered, so that nobody takes its cost for 0. */
  private unlowered(
    layer: CaffeLayer,
    name: string,
    inputs: readonly (Tensor | undefined)[],
  ): readonly Tensor[] {
    const known = inputs.filter((input) => input !== undefined && input.elementType !== undefined);
    const reason = this.reasons.get(layer) ?? this.reasonOf(layer, inputs);
    return this.graph.node(name, caffeDomain, layer.type || 'layer', known, Math.max(1, layer.tops.length), {
      reason: text(reason),
    });
  }

  private reasonOf(layer: CaffeLayer, inputs: readonly (Tensor | undefined)[]): string {
    for (const [index, input] of inputs.entries()) {
      const blob = `the size of \`${layer.bottoms[index]?.text}\``;
      if (input?.shape === undefined) return `${blob} is unknown`;
      const names = input.shape.flatMap(symbolsOf).filter((name) => this.missing.has(name));
      const options = [...new Set(names)].map((name) => `--dim ${name}=N`);
      if (options.length > 0) return `${blob} is not known from the net: give ${options.join(' ')}`;
    }
    return 'the layer could not be read, see the messages about it';
  }

  private uniqueName(name: string): string {
    const times = (this.taken.get(name) ?? 0) + 1;
    this.taken.set(name, times);
    if (times === 1) return name;
    return this.uniqueName(`${name} (${times})`);
  }

  /** Names with slashes are modules and what is in them, unless a layer has the name of the module. */
  private ancestorsOf(name: string): readonly string[] {
    const steps = name.split('/').slice(0, -1);
    const paths = steps.map((_, index) => steps.slice(0, index + 1).join('/'));
    return paths.filter((path) => path !== '' && !this.names.has(path)).slice(0, deepestModule);
  }

  private report(
    code: IssueCode,
    message: string,
    span: TextSpan | undefined,
    severity: Issue['severity'] = 'error',
  ): void {
    this.issues.push({ code, severity, message, ...(span === undefined ? {} : { span }) });
  }
}

/** Names with more steps are no modules anyone wrote. */
const deepestModule = 16;

const nothing: Tensor = { name: '', elementType: undefined, shape: undefined };

const count = (dimensions: readonly number[]): number =>
  dimensions.reduce((product, size) => product * size, 1);

const capitalized = (message: string): string => message.charAt(0).toUpperCase() + message.slice(1);

const topsOf = (layers: readonly CaffeLayer[]): ReadonlySet<string> =>
  new Set(layers.flatMap(({ tops }) => tops.map(({ text }) => text)));
