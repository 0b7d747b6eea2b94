/**
 * Lowers a layer spec to ONNX operators, so that the engine that costs ONNX files costs it too.
 *
 * A line that is wrong takes nothing else away: it becomes one operator that nothing knows, layers after it go on with
 * the sizes their arguments give, and an issue stands at the word that is wrong.
 */

import { didYouMean } from '../formats/layer-spec/nearestName.ts';
import type {
  Argument,
  Expression,
  LayerCall,
  LayerSpec,
  Name,
  SpecBlock,
  SpecLayer,
} from '../formats/layer-spec/syntax.ts';
import type { OnnxModel } from '../formats/onnx/syntax.ts';
import { type Dimension, symbol, unknownDimension } from '../model/dimension.ts';
import type { Issue, TextSpan } from '../model/issue.ts';
import type { IssueCode } from '../model/issueCodes.ts';
import { findOperator, knownOperators } from '../operators/registry.ts';
import { bindArguments } from './layer-spec/bindArguments.ts';
import { type CallSite, makeLayerLowering } from './layer-spec/callLowering.ts';
import { evaluate, namesIn, type Values } from './layer-spec/evaluate.ts';
import { GraphBuilder, opset } from './layer-spec/graphBuilder.ts';
import {
  type LayerDefinition,
  type NodeAttributes,
  printSignature,
  printValue,
  type SpecValue,
  type Tensor,
} from './layer-spec/layerDefinition.ts';
import { findLayer, layerDefinitions } from './layer-spec/layerDefinitions.ts';
import { unsupportedLayers } from './layer-spec/unsupportedLayers.ts';
import { type ProvidedStructure, unloweredDomain } from './providedStructure.ts';

/**
 * The model of `spec` with values of dims from `overrides`, else from the spec.
 *
 * The leading dimension of the first input stays open, and so does every dimension that only stands in the types
 * of inputs, unless a layer needs its value; their values are in `structure.symbolDefaults`. All others are numbers
 * in the graph.
 */
export function lowerLayerSpec(
  spec: LayerSpec,
  overrides: ReadonlyMap<string, number>,
): { readonly model: OnnxModel; readonly structure: ProvidedStructure; readonly issues: readonly Issue[] } {
  let lowering = new Lowering(spec, overrides, new Set());
  let outputs = lowering.run();
  // A dimension whose value went into the graph (a table of positions, say) is a number from the start.
  if (lowering.pinned.size > 0) {
    lowering = new Lowering(spec, overrides, lowering.pinned);
    outputs = lowering.run();
  }
  return {
    model: lowering.graph.build(spec.name?.text ?? '', outputs),
    structure: {
      layers: lowering.graph.layers,
      roles: lowering.graph.roles,
      symbolDefaults: lowering.symbolDefaults,
      issues: [],
    },
    issues: lowering.issues,
  };
}

/** What names mean at one place: dims and block parameters, tensors, and layers with weights. */
interface Scope {
  readonly values: Values;
  readonly tensors: Map<string, Tensor>;
  readonly weights: Map<string, ReadonlyMap<string, Tensor>>;
  readonly outer: Scope | undefined;
  /** Blocks being lowered, to find one that contains itself. */
  readonly blocks: readonly string[];
  /** Path of the enclosing block with a dot, or ''. */
  readonly prefix: string;
  readonly ancestors: readonly string[];
}

/** Tensors among the arguments of a call: by position, by the name of the input, and what is left of the arguments. */
interface GivenTensors {
  readonly tensors: readonly (Tensor | undefined)[];
  readonly named: ReadonlyMap<string, Tensor | undefined>;
  readonly rest: readonly Argument[];
}

/** Layers beyond this are a slip of the hand in a repetition, not a model. */
const mostLayers = 4_000;

class Lowering {
  readonly graph = new GraphBuilder();
  readonly issues: Issue[] = [];
  readonly symbolDefaults = new Map<string, number>();
  /** Open dimensions whose value was needed. */
  readonly pinned = new Set<string>();
  private readonly reported = new Set<string>();
  private readonly blocks: ReadonlyMap<string, SpecBlock>;
  private layerCount = 0;
  private saidTooLong = false;

  constructor(
    private readonly spec: LayerSpec,
    private readonly overrides: ReadonlyMap<string, number>,
    private readonly closed: ReadonlySet<string>,
  ) {
    this.blocks = new Map(spec.blocks.map((block) => [block.name.text, block]));
  }

  run(): readonly Tensor[] {
    const values = this.dimensionValues();
    const tensors = new Map<string, Tensor>();
    for (const input of this.spec.inputs) {
      const shape = input.dimensions.map((size): Dimension => {
        const value = evaluate(size, values, this.report);
        if (typeof value === 'number' || (typeof value === 'object' && value !== null && 'kind' in value))
          return value;
        return unknownDimension('its expression has no value');
      });
      tensors.set(input.name.text, this.graph.input(input.name.text, input.elementType, shape));
    }
    const scope: Scope = {
      values,
      tensors,
      weights: new Map(),
      outer: undefined,
      blocks: [],
      prefix: '',
      ancestors: [],
    };
    const last = this.layers(this.spec.layers, scope, [...tensors.values()][0]);
    if (this.spec.outputs.length === 0) return last === undefined ? [] : [last];
    return this.spec.outputs.flatMap((name) => this.tensorNamed(name, scope) ?? []);
  }

  /** Values of dims in order of writing; those that stay open are symbols. */
  private dimensionValues(): Values {
    const open = this.openDimensions();
    const values = new Map<string, SpecValue | undefined>();
    const declared = new Set(this.spec.dims.map((dim) => dim.name.text));
    for (const { name, value } of this.spec.dims) {
      const override = this.overrides.get(name.text);
      const given = override ?? (value === undefined ? undefined : evaluate(value, values, this.report));
      if (given !== undefined && (typeof given !== 'number' || !Number.isSafeInteger(given) || given < 1)) {
        this.problem(
          'spec/dimension',
          `\`${name.text}\` is ${printValue(given)}; a dimension is a whole number above 0`,
          value?.span ?? name.span,
        );
        values.set(name.text, undefined);
        continue;
      }
      if (open.has(name.text)) {
        values.set(name.text, symbol(name.text));
        if (given !== undefined) this.symbolDefaults.set(name.text, given);
        continue;
      }
      if (given === undefined && value === undefined) {
        this.problem(
          'spec/dimension',
          `\`${name.text}\` has no value; write one here or give it with --dim ${name.text}=VALUE`,
          name.span,
        );
      }
      values.set(name.text, given);
    }
    for (const name of open) {
      if (declared.has(name)) continue;
      values.set(name, symbol(name));
      const override = this.overrides.get(name);
      if (override !== undefined) this.symbolDefaults.set(name, override);
    }
    return values;
  }

  /** Names that stand alone in an input's type: the leading one of the first input, and those used nowhere else. */
  private openDimensions(): ReadonlySet<string> {
    const alone: string[] = [];
    const used = new Set<string>();
    for (const input of this.spec.inputs) {
      for (const size of input.dimensions) {
        if (size.kind === 'name') alone.push(size.name);
        else for (const name of namesIn(size)) used.add(name);
      }
    }
    for (const expression of this.expressions()) for (const name of namesIn(expression)) used.add(name);
    const declared = this.spec.dims.map((dim) => dim.name.text);
    const leading = this.spec.inputs[0]?.dimensions[0];
    const first = leading?.kind === 'name' ? leading.name : undefined;
    // An undeclared name is only taken for a new symbol where a batch is expected; elsewhere it is a slip.
    const open = alone.filter((name) => name === first || (!used.has(name) && declared.includes(name)));
    return new Set(open.filter((name) => !(this.closed.has(name) && declared.includes(name))));
  }

  private *expressions(): Generator<Expression> {
    for (const dim of this.spec.dims) if (dim.value !== undefined) yield dim.value;
    for (const block of this.spec.blocks) {
      for (const parameter of block.parameters) if (parameter.default !== undefined) yield parameter.default;
    }
    for (const layers of [this.spec.layers, ...this.spec.blocks.map((block) => block.layers)]) {
      for (const { call } of layers) {
        if (call === undefined) continue;
        for (const argument of call.arguments) yield argument.value;
        if (call.repetition !== undefined) yield call.repetition;
      }
    }
  }

  /** Lowers a list of layers, each fed by the one before; gives the output of the last. */
  private layers(layers: readonly SpecLayer[], scope: Scope, input: Tensor | undefined): Tensor | undefined {
    let previous = input;
    for (const layer of layers) {
      const output = this.layer(layer, scope, previous);
      if (output !== undefined) {
        scope.tensors.set(layer.name.text, output);
        previous = output;
      }
    }
    return previous;
  }

  private layer(layer: SpecLayer, scope: Scope, previous: Tensor | undefined): Tensor | undefined {
    const { call, name } = layer;
    if (call === undefined) return this.uncalled(layer, scope, previous);
    if (this.isTooLong(call, name)) return previous;
    const count = this.repetitions(call, scope);
    const path = `${scope.prefix}${name.text}`;
    if (count === undefined) return this.call(layer, call, scope, path, scope.ancestors, previous);
    let output = previous;
    let current = call;
    for (let index = 0; index < count; index += 1) {
      if (this.isTooLong(call, name)) break;
      output = this.call(layer, current, scope, `${path}[${index}]`, [...scope.ancestors, path], output);
      // Sources feed the first repetition; every other one is fed by the repetition before.
      current = { ...call, sources: [] };
    }
    return output;
  }

  /** A layer whose call is missing: nobody knows what it costs or gives. */
  private uncalled(layer: SpecLayer, scope: Scope, previous: Tensor | undefined): Tensor | undefined {
    const path = `${scope.prefix}${layer.name.text}`;
    const inputs = previous === undefined ? [] : [previous];
    const nodes = [this.graph.size];
    const [output] = this.graph.node(path, unloweredDomain, 'unreadable', inputs, 1, {});
    this.graph.layers.push({ name: path, type: '', ancestors: scope.ancestors, nodes, span: layer.span });
    return output;
  }

  /** Whether there are too many layers by now; a block counts like a layer, so that empty ones end too. */
  private isTooLong(call: LayerCall, name: Name): boolean {
    if (this.layerCount <= mostLayers) return false;
    if (!this.saidTooLong) {
      this.problem(
        'spec/structure',
        `the model has more than ${mostLayers} layers; is a repetition too large?`,
        call.repetition?.span ?? name.span,
      );
    }
    this.saidTooLong = true;
    return true;
  }

  private repetitions(call: LayerCall, scope: Scope): number | undefined {
    if (call.repetition === undefined) return undefined;
    const count = evaluate(call.repetition, scope.values, this.report);
    if (count === undefined) return 1;
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 1) return count;
    this.problem(
      'spec/call',
      `a layer is repeated a whole number of times, not ${printValue(count)}`,
      call.repetition.span,
    );
    return 1;
  }

  private call(
    layer: SpecLayer,
    call: LayerCall,
    scope: Scope,
    path: string,
    ancestors: readonly string[],
    previous: Tensor | undefined,
  ): Tensor | undefined {
    const block = this.blocks.get(call.callee.text);
    if (block !== undefined) return this.block(block, call, scope, path, ancestors, previous);
    this.layerCount += 1;
    const start = this.graph.size;
    const weights = new Map<string, Tensor>();
    const output =
      this.lowered(call, scope, path, previous, weights) ?? this.unreadable(call, scope, path, previous);
    scope.weights.set(layer.name.text, weights);
    const nodes = Array.from({ length: this.graph.size - start }, (_, index) => start + index);
    this.graph.layers.push({ name: path, type: call.callee.text, ancestors, nodes, span: layer.span });
    return output;
  }

  private block(
    block: SpecBlock,
    call: LayerCall,
    scope: Scope,
    path: string,
    ancestors: readonly string[],
    previous: Tensor | undefined,
  ): Tensor | undefined {
    const name = block.name.text;
    this.layerCount += 1;
    if (scope.blocks.includes(name)) {
      this.problem('spec/structure', `block \`${name}\` contains itself`, call.callee.span);
      return previous;
    }
    const parameters = block.parameters.map((parameter) => ({
      name: parameter.name.text,
      type: 'any' as const,
      documentation: '',
      ...(parameter.default === undefined
        ? {}
        : { default: evaluate(parameter.default, scope.values, this.report) ?? null }),
    }));
    const signature = `${name}(${parameters.map((parameter) => parameter.name).join(', ')})`;
    const bound = bindArguments(call, call.arguments, parameters, signature, scope.values, this.report);
    const values = new Map(scope.values);
    for (const parameter of parameters) {
      values.set(parameter.name, bound?.get(parameter.name)?.value ?? parameter.default);
    }
    const [extra] = call.sources.slice(1);
    if (extra !== undefined) {
      this.problem('spec/call', `block \`${name}\` takes one input, named \`input\` inside it`, extra.span);
    }
    const [source] = call.sources;
    const input = source === undefined ? previous : this.tensorNamed(source, scope);
    const inner: Scope = {
      values,
      tensors: new Map(input === undefined ? [] : [['input', input]]),
      weights: new Map(),
      outer: scope,
      blocks: [...scope.blocks, name],
      prefix: `${path}.`,
      ancestors: [...ancestors, path],
    };
    return this.layers(block.layers, inner, input);
  }

  /** The output of a layer, or `undefined` where it could not be lowered; an issue then says why. */
  private lowered(
    call: LayerCall,
    scope: Scope,
    path: string,
    previous: Tensor | undefined,
    weights: Map<string, Tensor>,
  ): Tensor | undefined {
    const definition = findLayer(call.callee.text);
    if (definition === undefined) return this.onnxOperator(call, scope, path, previous);
    const given = this.givenTensors(definition, call, scope, previous);
    const inputs = this.inputsOf(definition, call, given, scope, previous);
    const signature = printSignature(definition);
    const bound = bindArguments(
      call,
      given.rest,
      definition.parameters,
      signature,
      scope.values,
      this.report,
    );
    if (inputs === undefined || bound === undefined) return undefined;
    const site: CallSite = {
      path,
      callee: call.callee.span,
      inputs,
      batch: this.graph.batch,
      namedInputs: new Map([...given.named].flatMap(([name, tensor]) => (tensor ? [[name, tensor]] : []))),
      bound,
      symbolDefaults: this.symbolDefaults,
      weightsOf: (layer) => weightsNamed(layer, scope),
      weights,
      report: this.report,
      pin: (dimension) => this.pinned.add(dimension),
    };
    const output = definition.lower(makeLayerLowering(definition, site, this.graph));
    return isList(output) ? output[0] : output;
  }

  /** An ONNX operator by name: tensors first, attributes by keyword. */
  private onnxOperator(
    call: LayerCall,
    scope: Scope,
    path: string,
    previous: Tensor | undefined,
  ): Tensor | undefined {
    const { text, span } = call.callee;
    if (findOperator('', text, opset) === undefined) {
      const known = [...this.blocks.keys(), ...layerDefinitions.map((definition) => definition.name)];
      const operators = knownOperators().flatMap(({ domain, type }) => (domain === '' ? [type] : []));
      const reason = unsupportedLayers.get(text);
      const hint =
        reason === undefined
          ? didYouMean(text, [...known, ...operators]) || '; it is no block of this file either'
          : `; ${reason}`;
      this.problem('spec/unknown-layer', `\`${text}\` is not a layer${hint}`, span);
      return undefined;
    }
    const anyTensors = { kind: 'function', inputs: { names: [], least: 1, variadic: true } } as const;
    const given = this.givenTensors(anyTensors, call, scope, previous);
    const tensors = [...this.sources(call, scope), ...given.tensors];
    const attributes: NodeAttributes = Object.fromEntries(
      given.rest.flatMap((argument) => {
        if (argument.keyword === undefined) {
          this.problem(
            'spec/argument',
            `attributes of the ONNX operator ${text} are given by name`,
            argument.span,
          );
          return [];
        }
        const value = evaluate(argument.value, scope.values, this.report);
        const attribute = value === undefined ? undefined : attributeOf(value);
        return attribute === undefined ? [] : [[argument.keyword.text, attribute]];
      }),
    );
    const inputs = tensors.length > 0 ? tensors : [previous];
    return this.graph.node(path, '', text, inputs, 1, attributes)[0];
  }

  /**
   * Tensors among the arguments. In a function they may stand anywhere by position: a name that is no dimension is one,
   * known or not, until the first argument that is none; a tuple of names counts as its items, as in
   * `concat((a, b), dim=1)`. Any layer takes them by the name of the input: `attn_mask=mask`.
   */
  private givenTensors(
    definition: Pick<LayerDefinition, 'kind' | 'inputs'>,
    call: LayerCall,
    scope: Scope,
    previous: Tensor | undefined,
  ): GivenTensors {
    const given: (Tensor | number | undefined)[] = [];
    const named = new Map<string, Tensor | undefined>();
    const rest: Argument[] = [];
    let leading = true;
    for (const argument of call.arguments) {
      const { keyword, value } = argument;
      if (keyword !== undefined) {
        const isInput = definition.inputs.names.includes(keyword.text) && value.kind === 'name';
        if (isInput) named.set(keyword.text, this.tensorNamed({ text: value.name, span: value.span }, scope));
        else rest.push(argument);
        continue;
      }
      if (definition.kind === 'module') {
        rest.push(argument);
        continue;
      }
      const items = value.kind === 'tuple' ? value.items : [value];
      const references = items.flatMap((item) =>
        item.kind === 'name' && (isTensor(item.name, scope) || (leading && !scope.values.has(item.name)))
          ? [item]
          : [],
      );
      if (references.length > 0 && references.length === items.length) {
        for (const { name, span } of references) given.push(this.tensorNamed({ text: name, span }, scope));
        continue;
      }
      const number = definition.inputs.numbers ? evaluate(value, scope.values, this.report) : undefined;
      if (typeof number === 'number') given.push(number);
      else {
        leading = false;
        rest.push(argument);
      }
    }
    const known = [...given, ...named.values(), previous].find((tensor) => typeof tensor === 'object');
    const elementType = known?.elementType ?? 'float32';
    const tensors = given.map((tensor) =>
      typeof tensor === 'number' ? this.graph.constant(elementType, [], [tensor]) : tensor,
    );
    return { tensors, named, rest };
  }

  private inputsOf(
    definition: LayerDefinition,
    call: LayerCall,
    given: GivenTensors,
    scope: Scope,
    previous: Tensor | undefined,
  ): readonly Tensor[] | undefined {
    const { least, names, variadic } = definition.inputs;
    let tensors = [...this.sources(call, scope), ...given.tensors];
    const named = [...given.named.values()];
    if (tensors.length + named.length < least && call.sources.length === 0) tensors = [previous, ...tensors];
    const known = tensors.filter((tensor) => tensor !== undefined);
    if (known.length < tensors.length || named.includes(undefined)) {
      if (previous === undefined && call.sources.length + given.tensors.length === 0) {
        this.problem(
          'spec/unknown-source',
          `${definition.name} has no input: nothing is above it, and the model has no inputs`,
          call.callee.span,
        );
      }
      return undefined;
    }
    if (known.length + named.length < least) {
      this.problem(
        'spec/argument',
        `${definition.name} takes ${names.join(', ')}; name them with \`from\``,
        call.callee.span,
      );
      return undefined;
    }
    if (known.length > names.length && !variadic) {
      const extra = call.sources[names.length]?.span ?? call.argumentsSpan;
      this.problem(
        'spec/argument',
        `${definition.name} takes ${names.length === 1 ? 'one tensor' : `at most ${names.length} tensors`}, not ${known.length}`,
        extra,
      );
      return known.slice(0, names.length);
    }
    return known;
  }

  private sources(call: LayerCall, scope: Scope): readonly (Tensor | undefined)[] {
    return call.sources.map((name) => this.tensorNamed(name, scope));
  }

  private tensorNamed(name: Name, scope: Scope): Tensor | undefined {
    for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
      const tensor = at.tensors.get(name.text);
      if (tensor !== undefined) return tensor;
    }
    const known: string[] = [];
    for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) known.push(...at.tensors.keys());
    const hint = didYouMean(name.text, known);
    this.problem(
      'spec/unknown-source',
      `no layer above or input is named \`${name.text}\`${hint}`,
      name.span,
    );
    return undefined;
  }

  /** Stands in for a call that could not be lowered, so that nobody takes its cost for 0. */
  private unreadable(
    call: LayerCall,
    scope: Scope,
    path: string,
    previous: Tensor | undefined,
  ): Tensor | undefined {
    const named = call.sources.flatMap((name) => scope.tensors.get(name.text) ?? []);
    const inputs = named.length > 0 ? named : previous === undefined ? [] : [previous];
    return this.graph.node(path, unloweredDomain, call.callee.text, inputs, 1, {})[0];
  }

  private problem(code: IssueCode, message: string, span: TextSpan): void {
    this.report({ code, severity: 'error', message, span });
  }

  /** Repetitions of a block meet the same mistake again; it is reported once. */
  private readonly report = (issue: Issue): void => {
    const key = `${issue.code} ${issue.span?.start ?? ''} ${issue.span?.end ?? ''} ${issue.message}`;
    if (this.reported.has(key)) return;
    this.reported.add(key);
    this.issues.push(issue);
  };
}

/** `Array.isArray` does not tell a readonly list from what else it may be. */
const isList = <Item>(value: Item | readonly Item[] | undefined): value is readonly Item[] =>
  Array.isArray(value);

function isTensor(name: string, scope: Scope): boolean {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer)
    if (at.tensors.has(name)) return true;
  return false;
}

function weightsNamed(layer: string, scope: Scope): ReadonlyMap<string, Tensor> | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    const weights = at.weights.get(layer);
    if (weights !== undefined) return weights;
  }
  return undefined;
}

function attributeOf(value: SpecValue): NodeAttributes[string] | undefined {
  if (typeof value === 'boolean') return { kind: 'int', value: value ? 1 : 0 };
  if (typeof value === 'string') return { kind: 'string', value };
  if (typeof value === 'number') return { kind: Number.isInteger(value) ? 'int' : 'float', value };
  if (!Array.isArray(value)) return undefined;
  if (value.every((item) => typeof item === 'number')) {
    return { kind: value.every((item) => Number.isInteger(item)) ? 'ints' : 'floats', value };
  }
  return value.every((item) => typeof item === 'string') ? { kind: 'strings', value } : undefined;
}
