/** One model of a layer spec while its layers become operators, in order of writing. */

import type { SelectedModel } from '../../formats/layer-spec/selectModel.ts';
import type { LayerCall, Name, SpecBlock, SpecLayer } from '../../formats/layer-spec/syntax.ts';
import { layersOf } from '../../formats/layer-spec/walkSpec.ts';
import { type Dimension, symbol, unknownDimension } from '../../model/dimension.ts';
import type { LayerMarks } from '../../model/graph.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import { didYouMean } from '../../model/nearestName.ts';
import { precisions } from '../../model/scenario.ts';
import { findOperator, knownOperators } from '../../operators/registry.ts';
import { unloweredDomain } from '../providedStructure.ts';
import { bindArguments } from './bindArguments.ts';
import { type Home, type HomeBlock, placeIn } from './blockTable.ts';
import { makeLayerLowering } from './callLowering.ts';
import { copyLayer, patternOf } from './copyLayer.ts';
import { dimensionValues, openDimensions } from './dimensionValues.ts';
import { evaluate, namesIn } from './evaluate.ts';
import { GraphBuilder, opset } from './graphBuilder.ts';
import { printSignature, printValue, type SpecValue, type Tensor } from './layerDefinition.ts';
import { findLayer, layerDefinitions } from './layerDefinitions.ts';
import {
  type KeptLayer,
  keyOfValue,
  type LayerBasis,
  LoweringMemory,
  type RunMemory,
  readsOf,
} from './loweringMemory.ts';
import { operatorAttributes } from './operatorAttributes.ts';
import { isTensor, type Outputs, type Scope, tensorOf, weightsNamed, whyNoWeight } from './scope.ts';
import { type Feed, givenTensors, inputsOf, sourcesOf } from './tensorArguments.ts';
import { GivenOutputs } from './unreadLayers.ts';
import { unsupportedLayers } from './unsupportedLayers.ts';

/** Layers beyond this are a slip of the hand in a repetition, not a model. */
const mostLayers = 16_000;

/** Some layers are many operators each; tensors beyond this would take seconds for every keystroke. */
const mostTensors = 64_000;

/** Blocks in blocks: people write three or four, and each level is a few calls of this program. */
const deepestBlocks = 64;

/** One line of a list of layers, where it stands and what feeds it. */
interface Line {
  readonly layer: SpecLayer;
  readonly call: LayerCall;
  readonly scope: Scope;
  /** Path of the layer, such as `h[3].fc`. */
  readonly path: string;
  readonly ancestors: readonly string[];
  readonly marks: LayerMarks;
  /** The output of the line above. */
  readonly previous: Tensor | undefined;
  /** Outputs of the repetition before, which take the place of the first sources. */
  readonly carried: readonly Tensor[];
}

export class ModelLowering {
  readonly graph = new GraphBuilder();
  readonly issues: Issue[] = [];
  readonly symbolDefaults: ReadonlyMap<string, number>;
  /** Open dimensions whose value was needed. */
  readonly pinned = new Set<string>();
  private readonly reported = new Set<string>();
  private readonly home: Home;
  private readonly memory: RunMemory;
  /** Grows with every issue, told before or not. */
  private reportCount = 0;
  private layerCount = 0;
  private recomputedCount = 0;
  private saidTooLong = false;
  private readonly hints = new Map<string, string>();
  private readonly given = new GivenOutputs();

  /** `included` are blocks of other files; `closed` are open dimensions whose value is known to be needed. */
  constructor(
    private readonly model: SelectedModel,
    included: ReadonlyMap<string, HomeBlock>,
    overrides: ReadonlyMap<string, number>,
    closed: ReadonlySet<string>,
    memory: LoweringMemory = new LoweringMemory('copies'),
  ) {
    const open = openDimensions(model, closed);
    const { values, symbolDefaults } = dimensionValues(model.dims, open, overrides, this.report);
    this.symbolDefaults = symbolDefaults;
    const blocks = new Map(included);
    this.home = { file: undefined, blocks, values };
    for (const block of model.blocks) blocks.set(block.name.text, { block, home: this.home });
    const inputs = model.inputs.map(({ name, elementType, dimensions }) => [
      name.text,
      elementType,
      dimensions.map((size) => keyOfValue(evaluate(size, values, () => {}))),
    ]);
    this.memory = memory.runOf(
      JSON.stringify([
        inputs,
        [...values].map(([name, value]) => [name, keyOfValue(value)]),
        [...symbolDefaults],
      ]),
    );
  }

  /** Lowers everything; gives the tensors that leave the model. */
  run(): readonly Tensor[] {
    const scope: Scope = {
      home: this.home,
      values: this.memory.valuesOf('', '', this.home.values),
      tensors: new Map(),
      weights: new Map(),
      outer: undefined,
      layers: this.model.layers,
      blocks: [],
      prefix: '',
      ancestors: [],
      marks: {},
      line: undefined,
      report: this.report,
    };
    const inputs: Tensor[] = [];
    for (const input of this.model.inputs) {
      const shape = input.dimensions.map((size): Dimension => {
        const value = evaluate(size, scope.values, this.report);
        if (typeof value === 'number' || (typeof value === 'object' && value !== null && 'kind' in value))
          return value;
        if (size.kind !== 'name') return unknownDimension('its expression has no value');
        // That it has no value has been said; its name tells more than a question mark.
        this.graph.unknownSizes.add(size.name);
        return symbol(size.name);
      });
      inputs.push(this.graph.input(input.name.text, input.elementType, shape));
    }
    // The circumstances of the run before were the same, and so are its inputs.
    this.memory.inputs ??= inputs;
    for (const tensor of this.memory.inputs) scope.tensors.set(tensor.name, single(tensor));
    const [first] = scope.tensors.values();
    const last = this.layers(this.model.layers, scope, first?.tensors[0]);
    this.memory.finish();
    const outputs =
      this.model.outputs.length > 0
        ? this.model.outputs.flatMap((reference) => tensorOf(reference, scope) ?? [])
        : last === undefined
          ? []
          : [last];
    this.given.returns(0, outputs);
    // A line that cannot be read may be the one that reads a layer.
    if (this.issues.every(({ severity }) => severity !== 'error')) {
      for (const issue of this.given.unread(this.graph.readNames(), this.referredNames())) this.report(issue);
    }
    return outputs;
  }

  /** Names in the arguments of calls, tensors or not. */
  private referredNames(): ReadonlySet<string> {
    const names = new Set<string>();
    for (const { call } of layersOf(this.model)) {
      for (const { value } of call?.arguments ?? []) for (const name of namesIn(value)) names.add(name);
    }
    return names;
  }

  /** Lowers a list of layers, each fed by the one before; gives the first output of the last. */
  private layers(layers: readonly SpecLayer[], scope: Scope, input: Tensor | undefined): Tensor | undefined {
    let previous = input;
    for (const layer of layers) {
      const outputs = this.layer(layer, scope, previous);
      if (outputs === undefined) continue;
      // Lines of included files stand elsewhere.
      if (scope.home === this.home && layer.call !== undefined) this.given.add(layer, outputs.tensors);
      this.nameOutputs(layer, outputs, scope);
      previous = outputs.tensors[0] ?? previous;
    }
    return previous;
  }

  private nameOutputs({ names, call }: SpecLayer, outputs: Outputs, scope: Scope): void {
    const [only, ...others] = names;
    if (only !== undefined && others.length === 0) scope.tensors.set(only.text, outputs);
    if (others.length === 0) return;
    const more = outputs.tensors.length - names.length;
    const callee = findLayer(call?.callee.text ?? '');
    // Layers name their outputs, the first of which is what most people want; parts of a tensor are alike.
    if (more > 0 && callee?.kind === 'function' && callee.outputs === undefined && call !== undefined) {
      const message = `${call.callee.text} gives ${outputs.tensors.length} tensors, not ${names.length}; name ${more === 1 ? 'the last one' : 'the others'} too`;
      problem(scope, 'spec/call', message, names.at(-1)?.span ?? call.callee.span);
    }
    for (const [index, name] of names.entries()) {
      const tensor = outputs.tensors[index];
      if (tensor !== undefined) scope.tensors.set(name.text, single(tensor));
      else {
        const count = outputs.tensors.length;
        const message = `${call?.callee.text} gives ${count === 1 ? 'one tensor' : `${count} tensors`}, not ${names.length}`;
        problem(scope, 'spec/call', message, name.span);
        const path = `${scope.prefix}${name.text}`;
        scope.tensors.set(name.text, single(this.unknownTensor(path, scope, name.span)));
      }
    }
  }

  private layer(layer: SpecLayer, scope: Scope, previous: Tensor | undefined): Outputs | undefined {
    const { call, name } = layer;
    const path = `${scope.prefix}${name.text}`;
    if (this.isTooLong(call, name, scope)) return previous === undefined ? undefined : single(previous);
    if (call === undefined) return this.uncalled(layer, scope, path, previous);
    const count = this.repetitions(call, scope);
    const line: Line = {
      layer,
      call,
      scope,
      path,
      ancestors: scope.ancestors,
      marks: this.marksOf(call, scope),
      previous,
      carried: [],
    };
    // What nobody knows is unknown once, however often it is repeated.
    if (count === undefined || !isCallable(call, scope)) return this.call(line);
    const ancestors = [...scope.ancestors, path];
    let outputs: Outputs | undefined = previous === undefined ? undefined : single(previous);
    for (let index = 0; index < count; index += 1) {
      if (this.isTooLong(call, name, scope)) break;
      const marks = index === 0 ? line.marks : this.marksOf(call, scope);
      const carried = index === 0 ? [] : (outputs?.tensors ?? []);
      const repeated = { ...line, path: `${path}[${index}]`, ancestors, marks, carried };
      outputs = this.call(repeated) ?? outputs;
    }
    return outputs;
  }

  /** Marks of the call over those of the blocks around it. Each call that is recomputed is so by itself. */
  private marksOf(call: LayerCall, scope: Scope): LayerMarks {
    if (call.marks.length === 0) return scope.marks;
    let { frozen, precision, recomputed } = scope.marks;
    for (const { name, value } of call.marks) {
      if (name.text === 'frozen') frozen = true;
      if (name.text === 'precision') {
        precision = precisions.find((candidate) => candidate === value?.text) ?? precision;
      }
      if (name.text === 'recompute' && recomputed === undefined) {
        recomputed = this.recomputedCount;
        this.recomputedCount += 1;
      }
    }
    return {
      ...(frozen === undefined ? {} : { frozen }),
      ...(precision === undefined ? {} : { precision }),
      ...(recomputed === undefined ? {} : { recomputed }),
    };
  }

  /** A layer whose call is missing: nobody knows what it costs or gives. */
  private uncalled(
    layer: SpecLayer,
    scope: Scope,
    path: string,
    previous: Tensor | undefined,
  ): Outputs | undefined {
    this.layerCount += 1;
    const start = this.graph.size;
    const inputs = previous === undefined ? [] : [previous];
    const tensors = this.unlowered(path, 'unreadable', inputs, layer.names.length);
    this.addLayer(path, '', scope.ancestors, start, scope.line ?? layer.span, scope.marks);
    return { tensors, names: [] };
  }

  /** Stands in for a tensor that is missing, so that what it feeds is unknown rather than wrong. */
  private unknownTensor(path: string, scope: Scope, span: TextSpan): Tensor {
    const start = this.graph.size;
    const [tensor] = this.unlowered(path, 'missing', [], 1);
    this.addLayer(path, '', scope.ancestors, start, scope.line ?? span, {});
    return tensor ?? { name: '', elementType: undefined, shape: undefined };
  }

  /** An operator that nothing knows, in the place of what could not be lowered. */
  private unlowered(
    path: string,
    type: string,
    inputs: readonly Tensor[],
    outputs: number,
    called = type,
  ): readonly Tensor[] {
    const tensors = this.graph.node(path, unloweredDomain, type, inputs, outputs, {}, called);
    return tensors.map((tensor) => this.memory.sameTensor(tensor));
  }

  private addLayer(
    name: string,
    type: string,
    ancestors: readonly string[],
    start: number,
    span: TextSpan,
    marks: LayerMarks,
  ): void {
    const nodes = new Array<number>(this.graph.size - start);
    for (let index = 0; index < nodes.length; index += 1) nodes[index] = start + index;
    const marked = Object.keys(marks).length === 0 ? {} : { marks };
    this.graph.layers.push({ name, type, ancestors, nodes, span, ...marked });
  }

  /** Whether there are too many layers by now; a block counts like a layer, so that empty ones end too. */
  private isTooLong(call: LayerCall | undefined, name: Name, scope: Scope): boolean {
    const tooManyTensors = this.graph.tensorCount > mostTensors;
    if (this.layerCount <= mostLayers && !tooManyTensors) return false;
    if (!this.saidTooLong) {
      const [most, what] = tooManyTensors ? [mostTensors, 'tensors'] : [mostLayers, 'layers'];
      problem(
        scope,
        'spec/structure',
        `the model has more than ${most} ${what}; is a repetition too large?`,
        call?.repetition?.span ?? name.span,
      );
    }
    this.saidTooLong = true;
    return true;
  }

  private repetitions(call: LayerCall, scope: Scope): number | undefined {
    if (call.repetition === undefined) return undefined;
    const factor = call.repetition.kind === 'name' ? call.repetition.name : undefined;
    if (factor !== undefined && !scope.values.has(factor) && isTensor(factor, scope)) {
      const message = `\`*\` behind a call repeats it, and \`${factor}\` is a tensor; multiply on a line of its own: \`mul(…, ${factor})\``;
      problem(scope, 'spec/call', message, call.repetition.span);
      return undefined;
    }
    const count = evaluate(call.repetition, scope.values, scope.report);
    if (count === undefined) return 1;
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 1) return count;
    problem(
      scope,
      'spec/call',
      `a layer is repeated a whole number of times, at least once, not ${printValue(count)}${count === 0 ? '; put `#` before the line to leave it out' : ''}`,
      call.repetition.span,
    );
    return 1;
  }

  private call(line: Line): Outputs | undefined {
    const { layer, call, scope, path, ancestors, marks } = line;
    const block = scope.home.blocks.get(call.callee.text);
    if (block !== undefined) return this.block(block, line);
    this.layerCount += 1;
    const start = this.graph.size;
    const feed = {
      sources: sourcesOf(call, scope, line.carried),
      previous: line.carried[0] ?? line.previous,
    };
    const basis: LayerBasis = {
      written: call.written,
      outputs: layer.names.length,
      frozen: marks.frozen === true,
      values: scope.values,
      reads: readsOf(call, scope, feed),
    };
    const { outputs, weights } =
      this.kept(path, basis) ?? this.copied(path, basis) ?? this.fresh(line, feed, basis);
    scope.weights.set(layer.name.text, weights);
    this.addLayer(path, call.callee.text, ancestors, start, scope.line ?? layer.span, marks);
    return outputs;
  }

  /** The layer as it was lowered before, where nothing it depends on has changed. */
  private kept(path: string, basis: LayerBasis): KeptLayer | undefined {
    const layer = this.memory.find(path, basis);
    if (layer === undefined || !this.graph.adopt(layer.emitted)) return undefined;
    for (const dimension of layer.pinned) this.pinned.add(dimension);
    this.memory.keep(path, layer);
    return layer;
  }

  /** The layer as a copy of one that is written alike. */
  private copied(path: string, basis: LayerBasis): KeptLayer | undefined {
    const pattern = this.memory.patternFor(basis);
    const copy = pattern && copyLayer(pattern, path, basis, this.graph);
    if (copy === undefined || !this.graph.adopt(copy.emitted)) return undefined;
    const tensors = copy.outputs.tensors.map((tensor) => this.memory.sameTensor(tensor));
    const layer = { ...copy, outputs: { ...copy.outputs, tensors } };
    for (const dimension of layer.pinned) this.pinned.add(dimension);
    this.memory.keep(path, layer);
    return layer;
  }

  private fresh(line: Line, feed: Feed, basis: LayerBasis): Pick<KeptLayer, 'outputs' | 'weights'> {
    const { reportCount } = this;
    const weights = new Map<string, Tensor>();
    const pinned: string[] = [];
    this.graph.begin();
    const lowered = this.lowered(line, feed, weights, pinned);
    for (const dimension of pinned) this.pinned.add(dimension);
    if (lowered === undefined) return { outputs: this.unreadable(line), weights };
    const outputs = { ...lowered, tensors: lowered.tensors.map((tensor) => this.memory.sameTensor(tensor)) };
    // A layer that has something to say says it anew, where its words stand now.
    if (reportCount === this.reportCount) {
      const layer = { basis, emitted: this.graph.emitted(), outputs, weights, pinned };
      this.memory.keep(line.path, layer);
      const pattern = patternOf(line.path, layer, this.graph);
      if (pattern !== undefined) this.memory.keepPattern(pattern);
    }
    return { outputs, weights };
  }

  private block({ block, home }: HomeBlock, line: Line): Outputs | undefined {
    const { layer, call, scope, path, ancestors, marks, previous } = line;
    const name = block.name.text;
    this.layerCount += 1;
    if (scope.blocks.length >= deepestBlocks) {
      const message = `blocks are nested more than ${deepestBlocks} deep; what is deeper is left out, write it with fewer blocks`;
      problem(scope, 'spec/structure', message, call.callee.span);
      return previous === undefined ? undefined : single(previous);
    }
    if (scope.blocks.includes(`${home.file?.path ?? ''}:${name}`)) {
      problem(
        scope,
        'spec/structure',
        `block \`${name}\` contains itself; take this line out, or call another block`,
        call.callee.span,
      );
      return previous === undefined ? undefined : single(previous);
    }
    const foreign = home !== scope.home && home.file !== undefined;
    const { file } = home;
    const inner: Scope = {
      home,
      values: new Map(),
      tensors: new Map(),
      weights: new Map(),
      outer: home === this.home ? rootOf(scope) : undefined,
      layers: block.layers,
      blocks: [...scope.blocks, `${file?.path ?? ''}:${name}`],
      prefix: `${path}.`,
      ancestors: [...ancestors, path],
      marks,
      line: foreign ? (scope.line ?? layer.span) : scope.line,
      report:
        foreign && file !== undefined
          ? (issue) =>
              scope.report({
                ...issue,
                message: `${placeIn(file, issue.span)}: ${issue.message}`,
                span: call.callee.span,
              })
          : scope.report,
    };
    const values = this.memory.valuesOf(
      path,
      `${file?.path ?? ''}:${name}`,
      this.parameterValues(block, inner, call, scope),
    );
    const bound = { ...inner, values };
    const inputs = this.blockInputs(block, line, inner);
    for (const [input, tensor] of inputs) bound.tensors.set(input, single(tensor));
    const [first] = inputs.values();
    const before = this.given.count;
    const last = this.layers(block.layers, bound, first);
    // Of repetitions each has weights of its own, and no name tells one from the others. Names have one point at most.
    if (call.repetition === undefined) {
      for (const { name: inside } of block.layers) {
        const weights = bound.weights.get(inside.text);
        if (weights !== undefined) scope.weights.set(`${layer.name.text}.${inside.text}`, weights);
      }
    }
    if (block.outputs.length === 0) {
      if (last === undefined) return undefined;
      this.given.returns(before, [last]);
      return single(last);
    }
    const tensors = block.outputs.map(
      (reference) =>
        tensorOf(reference, bound) ?? this.unknownTensor(`${path}.${reference.text}`, bound, reference.span),
    );
    this.given.returns(before, tensors);
    return {
      tensors,
      names: block.outputs.map(({ text, output }) => output?.text ?? text),
    };
  }

  /** Dims of the block's file and its parameters; a default may read the parameters before it. */
  private parameterValues(
    block: SpecBlock,
    inner: Scope,
    call: LayerCall,
    scope: Scope,
  ): ReadonlyMap<string, SpecValue | undefined> {
    const parameters = block.parameters.map((parameter) => ({
      name: parameter.name.text,
      type: 'any' as const,
      documentation: '',
      ...(parameter.default === undefined ? {} : { default: null }),
    }));
    const signature = `${block.name.text}(${parameters.map((parameter) => parameter.name).join(', ')})`;
    const bound = bindArguments(call, call.arguments, parameters, signature, scope.values, scope.report);
    const values = new Map(inner.home.values);
    for (const { name, default: otherwise } of block.parameters) {
      const given = bound?.get(name.text)?.value;
      if (given !== undefined) values.set(name.text, given);
      else if (otherwise === undefined) values.set(name.text, undefined);
      else values.set(name.text, evaluate(otherwise, values, inner.report));
    }
    return values;
  }

  /** What the block is given, by the names it has inside. */
  private blockInputs(block: SpecBlock, line: Line, inner: Scope): ReadonlyMap<string, Tensor> {
    const { call, scope, path, layer, previous, carried } = line;
    const names = block.inputs.length === 0 ? ['input'] : block.inputs.map(({ text }) => text);
    const takes =
      block.inputs.length === 0
        ? 'one input, named `input` inside it'
        : names.length === 1
          ? `one input, \`${names[0]}\``
          : `${names.length} inputs, ${names.map((name) => `\`${name}\``).join(', ')}`;
    const sources = sourcesOf(call, scope, carried);
    const extra = call.sources[names.length];
    if (extra !== undefined) {
      problem(scope, 'spec/call', `block \`${block.name.text}\` takes ${takes}`, extra.span);
    }
    const given = sources.length === 0 ? [carried[0] ?? previous] : sources;
    const missing = names.slice(given.length);
    if (missing.length > 0) {
      const message = `block \`${block.name.text}\` takes ${takes}; name them with \`from\``;
      problem(scope, 'spec/call', message, call.callee.span);
    }
    const inputs = new Map<string, Tensor>();
    for (const [index, name] of names.entries()) {
      const tensor = given[index];
      if (tensor !== undefined) inputs.set(name, tensor);
      else if (block.inputs.length > 0 || call.sources.length > 0) {
        inputs.set(name, this.unknownTensor(`${path}.${name}`, inner, layer.span));
      }
    }
    return inputs;
  }

  /** The outputs of a layer, or `undefined` where it could not be lowered; an issue then says why. */
  private lowered(
    line: Line,
    feed: Feed,
    weights: Map<string, Tensor>,
    pinned: string[],
  ): Outputs | undefined {
    const { call, scope, path, marks } = line;
    const definition = findLayer(call.callee.text);
    if (definition === undefined) return this.onnxOperator(line, feed);
    const given = givenTensors(definition, call, scope, feed, this.graph);
    const inputs = inputsOf(definition, call, given, scope, feed);
    const bound = bindArguments(
      call,
      given.rest,
      definition.parameters,
      printSignature(definition),
      scope.values,
      scope.report,
    );
    if (inputs === undefined || bound === undefined) return undefined;
    const output = definition.lower(
      makeLayerLowering(
        definition,
        {
          path,
          callee: call.callee.span,
          inputs,
          batch: this.graph.batch,
          namedInputs: new Map(
            [...given.named].flatMap(([name, tensor]) => (tensor ? [[name, tensor]] : [])),
          ),
          bound,
          symbolDefaults: this.symbolDefaults,
          weightsOf: (layer) => weightsNamed(layer, scope),
          whyNoWeight: (layer, weight) => whyNoWeight(layer, weight, scope),
          weights,
          frozen: marks.frozen === true,
          report: scope.report,
          pin: (dimension) => pinned.push(dimension),
        },
        this.graph,
      ),
    );
    if (output === undefined) return undefined;
    return { tensors: isList(output) ? output : [output], names: definition.outputs ?? [] };
  }

  /** An ONNX operator by name: tensors first, attributes by keyword. */
  private onnxOperator(line: Line, feed: Feed): Outputs | undefined {
    const { call, scope, path, layer } = line;
    const { text, span } = call.callee;
    if (findOperator('', text, opset) === undefined) {
      problem(scope, 'spec/unknown-layer', `\`${text}\` is not a layer${this.hintFor(text, scope)}`, span);
      return undefined;
    }
    const anyTensors = { kind: 'function', inputs: { names: [], least: 1, variadic: true } } as const;
    const given = givenTensors(anyTensors, call, scope, feed, this.graph);
    const tensors = [...feed.sources, ...given.tensors];
    const attributes = operatorAttributes(call, given.rest, scope);
    if (attributes === undefined) return undefined;
    const inputs = tensors.length > 0 ? tensors : [feed.previous];
    return { tensors: this.graph.node(path, '', text, inputs, layer.names.length, attributes), names: [] };
  }

  /** What to write instead of a layer that is none. Worked out once per name, however often it is repeated. */
  private hintFor(name: string, scope: Scope): string {
    const key = `${scope.home.file?.path ?? ''}:${name}`;
    const known = this.hints.get(key);
    if (known !== undefined) return known;
    const reason = unsupportedLayers.get(name);
    const layers = layerDefinitions.map((definition) => definition.name);
    const operators = knownOperators().flatMap(({ domain, type }) => (domain === '' ? [type] : []));
    const names = [...scope.home.blocks.keys(), ...layers, ...operators];
    const hint =
      reason === undefined
        ? didYouMean(name, names) || '; it is no block of this file either'
        : `; ${reason}`;
    this.hints.set(key, hint);
    return hint;
  }

  /** Stands in for a call that could not be lowered, so that nobody takes its cost for 0. */
  private unreadable({ call, scope, path, previous, carried, layer }: Line): Outputs {
    const named = call.sources.flatMap(({ text }) => scope.tensors.get(text)?.tensors[0] ?? []);
    const fed = carried[0] ?? previous;
    const inputs = named.length > 0 ? named : fed === undefined ? [] : [fed];
    const { text } = call.callee;
    // A name that is being typed is another one with every letter; what reads its tensors stays as it is.
    const tensors = this.unlowered(path, text, inputs, layer.names.length, 'unreadable');
    return { tensors, names: findLayer(text)?.outputs?.slice(0, tensors.length) ?? [] };
  }

  /** Repetitions of a block meet the same mistake again; it is reported once. */
  private readonly report = (issue: Issue): void => {
    this.reportCount += 1;
    const key = `${issue.code} ${issue.span?.start ?? ''} ${issue.span?.end ?? ''} ${issue.message}`;
    if (this.reported.has(key)) return;
    this.reported.add(key);
    this.issues.push(issue);
  };
}

const single = (tensor: Tensor): Outputs => ({ tensors: [tensor], names: [] });

function problem(scope: Scope, code: IssueCode, message: string, span: TextSpan): void {
  scope.report({ code, severity: 'error', message, span });
}

const isCallable = ({ callee }: LayerCall, { home }: Scope): boolean =>
  home.blocks.has(callee.text) ||
  findLayer(callee.text) !== undefined ||
  findOperator('', callee.text, opset) !== undefined;

function rootOf(scope: Scope): Scope {
  return scope.outer ?? scope;
}

/** `Array.isArray` does not tell a readonly list from what else it may be. */
const isList = <Item>(value: Item | readonly Item[]): value is readonly Item[] => Array.isArray(value);
