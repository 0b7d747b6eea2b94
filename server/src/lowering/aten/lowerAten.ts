/**
 * Lowers a program of `torch.export` to ONNX operators, so that an operation costs the same whatever file it comes from.
 *
 * Weights, buffers and open sizes are those that the archive names. An operator without a counterpart stays in the graph
 * under its name, with the type that the archive says: its cost is unknown, and totals are lower bounds.
 */

import type { OnnxModel } from '../../formats/onnx/syntax.ts';
import type { AtenGraph, AtenNode, ExportedProgram, TensorMeta } from '../../formats/pt2/syntax.ts';
import { type Dimension, unknownDimension } from '../../model/dimension.ts';
import type { ValueRole } from '../../model/graph.ts';
import type { Issue } from '../../model/issue.ts';
import { GraphBuilder } from '../layer-spec/graphBuilder.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';
import type { ProvidedCall, ProvidedStructure } from '../providedStructure.ts';
import { AtenCall } from './atenCall.ts';
import { autocastOf, autocastRegion, isAutocast, type TensorLookup } from './autocastRegion.ts';
import {
  type Checkpoints,
  checkpointIssues,
  checkpointRegion,
  findCheckpoints,
  gradientRegion,
} from './checkpoints.ts';
import { isControlFlow, lowerControlFlow } from './controlFlow.ts';
import { customBackwardIssues } from './customBackward.ts';
import { decomposedIssues, isDecomposed, isFormerDetach } from './decomposed.ts';
import { evaluatedDropout } from './evaluatedDropout.ts';
import { withoutIdleMasks } from './idleMasks.ts';
import { filledWith } from './loopCounter.ts';
import { atenOperators } from './operators.ts';
import { possibleTies } from './possibleTies.ts';
import { recurrentPacks } from './recurrentWeights.ts';
import { isInPlace, type View, viewOf, writeBack } from './viewWrites.ts';

const prefix = 'torch.ops.aten.';

/** Calls of a graph that say how it runs, and change none of its operators. */
const regions: ReadonlySet<string> = new Set([gradientRegion, checkpointRegion, autocastRegion]);

/** `readSize` reads the arithmetic of an open size. */
export function lowerAten(
  exported: ExportedProgram,
  name: string,
  readSize: (text: string) => Dimension,
): { readonly model: OnnxModel; readonly structure: ProvidedStructure } {
  const program = { ...exported, graph: withoutIdleMasks(exported.graph) };
  const graph = new GraphBuilder();
  const shapeOf = (meta: TensorMeta): readonly Dimension[] =>
    meta.shape.map((size) =>
      typeof size === 'number'
        ? size
        : size === undefined
          ? unknownDimension('the archive gives no size')
          : readSize(size),
    );
  const checkpoints = findCheckpoints(program.graph);
  const lowering: Lowering = {
    checkpoints,
    graph,
    shapeOf,
    isDecomposed: isDecomposed(program),
    mutated: new Set(program.mutated),
    layers: new Map(),
    calls: new Map(),
    missing: [],
    lost: [],
    told: [],
  };
  const tensors = inputTensors(program, lowering);
  lowerNodes(lowering, program.graph, new Values(tensors), program.outputs);
  const outputs = program.outputs.flatMap((output) => tensors.get(output) ?? []);
  graph.layers.push(
    ...[...lowering.layers].map(([path, { type, ancestors, nodes, group, attentionDropout }]) => ({
      name: path,
      type,
      ancestors,
      nodes,
      ...(group === undefined && attentionDropout === undefined
        ? {}
        : {
            marks: {
              ...(group === undefined ? {} : { recomputed: group }),
              ...(attentionDropout === undefined ? {} : { attentionDropout }),
            },
          }),
    })),
  );
  const roles: ReadonlyMap<string, ValueRole> = graph.roles;
  const issues = [
    ...missingOperands(lowering.missing),
    ...lostWrites(lowering.lost),
    ...lowering.told,
    ...checkpointIssues(checkpoints),
    ...customBackwardIssues(program.graph),
    ...decomposedIssues(program),
    ...withoutGradients(program, outputs, graph.detached),
    ...evaluatedDropout(program),
    ...possibleTies(program),
  ];
  const { calls } = lowering;
  const { detached } = graph;
  const symbolLimits = new Map(
    [...program.ranges].flatMap(([symbol, { greatest }]) =>
      greatest === undefined || greatest >= unlimited ? [] : [[symbol, greatest]],
    ),
  );
  const structure: ProvidedStructure = {
    layers: graph.layers,
    calls,
    roles,
    detached,
    symbolDefaults: new Map(),
    symbolLimits,
    issues,
  };
  return { model: graph.build(name, outputs), structure };
}

/** What torch writes for no bound: the largest integer of its own, or of 64 bits. */
const unlimited = 2 ** 31;

interface Lowering {
  readonly checkpoints: Checkpoints;
  readonly graph: GraphBuilder;
  readonly shapeOf: (meta: TensorMeta) => readonly Dimension[];
  readonly isDecomposed: boolean;
  /** Results that take the place of parameters. */
  readonly mutated: ReadonlySet<string>;
  /** By path, in the order in which they begin. */
  readonly layers: Map<string, ModuleNodes>;
  /** By node, the call that it is a part of. */
  readonly calls: Map<number, ProvidedCall>;
  /** Calls of which an operand is nowhere. */
  readonly missing: { readonly target: string; readonly operand: string }[];
  /** Calls that write into a view of which no inverse is known. */
  readonly lost: AtenNode[];
  /** What is assumed of loops and branches. */
  readonly told: Issue[];
}

interface ModuleNodes {
  /** As fused attention among its calls is given it (`dropout_p`). */
  attentionDropout?: number;
  readonly type: string;
  readonly ancestors: readonly string[];
  readonly nodes: number[];
  /** The call of `checkpoint` that runs it. */
  readonly group: number | undefined;
}

/** What the graph is given: inputs, and what is stored with the model. */
function inputTensors(program: ExportedProgram, { graph, shapeOf }: Lowering): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  const read = namesRead(program.graph, program.outputs);
  const packs = recurrentPacks(program);
  const elementsOf = (name: string): number =>
    (program.graph.tensors.get(name)?.shape ?? []).reduce<number>((all, size) => all * Number(size), 1);
  for (const { name, kind, target } of program.inputs) {
    const meta = program.graph.tensors.get(name);
    // A weight that two modules share is read by one of its names; nothing trains what nothing reads.
    if (meta === undefined || (kind !== 'input' && !read.has(name))) continue;
    const shape = shapeOf(meta);
    const sizes = shape.flatMap((size) => (typeof size === 'number' ? [size] : []));
    if (kind === 'input' || sizes.length < shape.length) {
      tensors.set(name, graph.input(name, meta.elementType, shape));
      continue;
    }
    const pack = packs.get(name);
    if (pack !== undefined && pack.members[0] !== name) continue;
    const directions = pack === undefined ? 0 : pack.members.length / (pack.kind === 'bias' ? 2 : 1);
    const elements = pack?.members.reduce((all, member) => all + elementsOf(member), 0) ?? 0;
    const packed =
      pack?.kind === 'bias' ? [directions, elements / directions] : [directions, ...sizes.slice(-2)];
    const dimensions = pack === undefined ? sizes : packed;
    tensors.set(name, graph.stored(target, storedRole(kind, meta), dimensions, meta.elementType));
  }
  return tensors;
}

const storedRole = (kind: string, meta: TensorMeta): 'parameter' | 'frozen' | 'buffer' =>
  kind !== 'parameter' ? 'buffer' : meta.requiresGrad ? 'parameter' : 'frozen';

/** Counts of batches and checks of sizes are read by nothing. */
function namesRead(graph: AtenGraph, outputs: readonly string[]): ReadonlySet<string> {
  const names = new Set(outputs);
  for (const node of graph.nodes) for (const name of operandsOf(node)) names.add(name);
  return names;
}

const operandsOf = ({ arguments: given }: AtenNode): readonly string[] =>
  [...given.values()].flatMap((argument) =>
    argument.kind === 'tensor'
      ? [argument.name]
      : argument.kind === 'tensors'
        ? argument.names.flatMap((name) => name ?? [])
        : [],
  );

/** What a graph is given and has computed so far, by name, with what shares elements. */
class Values {
  readonly views = new Map<string, View>();
  /** Views of what was written since: their elements are new. */
  readonly stale = new Set<string>();

  /** Casts of weights that a region of autocast has made, which it makes once. */
  readonly casts = new Map<string, Tensor>();

  constructor(
    readonly tensors: Map<string, Tensor>,
    /** Whether the program turns autocast on for its calls, or off. */
    readonly autocast?: 'on' | 'off' | undefined,
  ) {}

  /** All views of a tensor, and views of these, but those by which it was written. */
  outdate(base: string, written: ReadonlySet<string>): void {
    for (const [name, view] of this.views) {
      if (view.base !== base || written.has(name)) continue;
      this.stale.add(name);
      this.outdate(name, written);
    }
  }
}

/** `values` holds what the graph is given, and everything it computes afterwards. */
function lowerNodes(lowering: Lowering, graph: AtenGraph, values: Values, outputs: readonly string[]): void {
  const read = namesRead(graph, outputs);
  const { tensors } = values;
  for (const node of graph.nodes) {
    if (!node.outputs.some((output) => read.has(output)) && changed(node, tensors) === undefined) continue;
    for (const operand of operandsOf(node)) refresh(lowering, operand, values, graph.tensors);
    if (regions.has(node.target)) lowerRegion(lowering, node, values);
    else if (!isControlFlow(node) || !lowerLoop(lowering, graph, node, values))
      lowerNode(lowering, node, values, graph.tensors);
  }
  for (const output of outputs) refresh(lowering, output, values, graph.tensors);
}

/** A view of what was written since is taken again. */
function refresh(
  lowering: Lowering,
  name: string,
  values: Values,
  metas: ReadonlyMap<string, TensorMeta>,
): void {
  const view = values.views.get(name);
  if (view === undefined || !values.stale.delete(name)) return;
  refresh(lowering, view.base, values, metas);
  const base = values.tensors.get(view.base);
  const taken = isInPlace(view.node) ? base : computed(lowering, view.node, values, metas)[view.index];
  if (taken !== undefined) values.tensors.set(name, taken);
}

/** Operands follow the graph that is called. */
function lowerRegion(lowering: Lowering, node: AtenNode, values: Values): void {
  const { tensors } = values;
  const given = [...node.arguments.values()];
  const at = given.findIndex(({ kind }) => kind === 'graph');
  const called = given[at];
  if (called?.kind !== 'graph') return;
  const inner = new Map<string, Tensor>();
  for (const [index, operand] of given.slice(at + 1).entries()) {
    const tensor = operand.kind === 'tensor' ? tensors.get(operand.name) : undefined;
    const input = called.graph.inputs[index];
    if (tensor !== undefined && input !== undefined) inner.set(input, tensor);
  }
  const autocast = node.target === autocastRegion ? (isAutocast(node) ? 'on' : 'off') : values.autocast;
  lowerNodes(lowering, called.graph, new Values(inner, autocast), called.graph.outputs);
  const isDetached = isWithoutGradients(node) && !lowering.checkpoints.reentrant.has(node);
  for (const [index, output] of node.outputs.entries()) {
    const result = inner.get(called.graph.outputs[index] ?? '');
    if (result === undefined) continue;
    tensors.set(output, isDetached ? detachedIn(lowering, node, result, tensors) : result);
  }
}

/** Whether the call of `around` is written out. */
function lowerLoop(lowering: Lowering, around: AtenGraph, node: AtenNode, values: Values): boolean {
  const { graph } = lowering;
  const { tensors, autocast } = values;
  const given = [...node.arguments.values()];
  const names = given.flatMap((argument) =>
    argument.kind === 'tensors' ? [argument.names.map((name) => name ?? '')] : [],
  );
  const path = node.modules.at(-1)?.path || (node.outputs[0] ?? '');
  const results = lowerControlFlow({
    node,
    call: new AtenCall(node, path, graph, tensors, []),
    graphs: given.flatMap((argument) => (argument.kind === 'graph' ? [argument.graph] : [])),
    names,
    lists: names.map((list) => list.map((name) => tensors.get(name))),
    filledWith: (name) => filledWith(around, name),
    run: (called, operands) => {
      const inner = new Map<string, Tensor>();
      for (const [index, input] of called.inputs.entries()) {
        const operand = operands[index];
        if (operand !== undefined) inner.set(input, operand);
      }
      lowerNodes(lowering, called, new Values(inner, autocast), called.outputs);
      return called.outputs.map((output) => inner.get(output));
    },
    tell: (issue) => lowering.told.push(issue),
    size: () => graph.size,
  });
  for (const [index, output] of node.outputs.entries()) {
    const result = results?.[index];
    if (result !== undefined && output !== '') tensors.set(output, result);
  }
  return results !== undefined;
}

/** A region of `torch.no_grad`. */
const isWithoutGradients = ({ target, arguments: given }: AtenNode): boolean => {
  const [enabled] = given.values();
  return target === gradientRegion && enabled?.kind === 'boolean' && !enabled.value;
};

function detachedIn(
  { graph }: Lowering,
  node: AtenNode,
  result: Tensor,
  tensors: ReadonlyMap<string, Tensor>,
): Tensor {
  const path = node.modules.at(-1)?.path || (node.outputs[0] ?? '');
  return new AtenCall(node, path, graph, tensors, []).detach(result);
}

/** The tensor that an operator writes into, such as `add_`. Counts of batches are integers, and left out. */
function changed(node: AtenNode, tensors: ReadonlyMap<string, Tensor>): string | undefined {
  if (!isInPlace(node)) return undefined;
  const { arguments: given } = node;
  const self = given.get('self') ?? given.get('input');
  const type = self?.kind === 'tensor' ? tensors.get(self.name)?.elementType : undefined;
  return self?.kind === 'tensor' && type !== undefined && !/int/.test(type) ? self.name : undefined;
}

function lowerNode(
  lowering: Lowering,
  node: AtenNode,
  values: Values,
  metas: ReadonlyMap<string, TensorMeta>,
): void {
  const { tensors, views } = values;
  const results = computed(lowering, node, values, metas);
  const self = changed(node, tensors);
  for (const [index, output] of node.outputs.entries()) {
    const result = results[index];
    if (result === undefined || output === '') continue;
    tensors.set(output, result);
    const view = viewOf(node, index);
    if (view !== undefined && (self !== undefined || !isInPlace(node))) views.set(output, view);
  }
  const [result] = results;
  // Whatever reads the tensor from here on reads what was written into it.
  if (self !== undefined && result !== undefined) write(lowering, node, self, result, values, metas);
}

/** Into a tensor, and into all that it is a view of. */
function write(
  lowering: Lowering,
  node: AtenNode,
  self: string,
  result: Tensor,
  values: Values,
  metas: ReadonlyMap<string, TensorMeta>,
): void {
  const { tensors, views } = values;
  const written = new Set(node.outputs);
  tensors.set(self, result);
  let [name, view] = [self, views.get(self)];
  for (; view !== undefined; name = view.base, view = views.get(name)) {
    written.add(name);
    refresh(lowering, view.base, values, metas);
    const back = writeBack(view, name, node, metas);
    const whole = back && computed(lowering, back, values, metas)[0];
    if (whole === undefined) {
      lowering.lost.push(node);
      break;
    }
    tensors.set(view.base, whole);
  }
  written.add(name);
  values.outdate(name, written);
}

/** The results of a call, in the types that the archive says. */
function computed(
  lowering: Lowering,
  node: AtenNode,
  values: Values,
  metas: ReadonlyMap<string, TensorMeta>,
): readonly (Tensor | undefined)[] {
  const { graph, shapeOf } = lowering;
  const [first = ''] = node.outputs;
  const path = node.modules.at(-1)?.path || first;
  const start = graph.size;
  const types = node.outputs.map((output) => {
    const meta = metas.get(output);
    return meta && { elementType: meta.elementType, shape: shapeOf(meta) };
  });
  const tensors =
    values.autocast === 'on' ? castOperands(lowering, node, path, values, types) : values.tensors;
  const results = resultsOf(lowering, node, path, tensors, types).map((given, index) => {
    const type = types[index];
    const result = isDetachedIn(lowering, node, index)
      ? new AtenCall(node, path, graph, tensors, types).detach(given)
      : given;
    const isKnown = type === undefined || result.shape !== undefined;
    return isKnown ? result : graph.declare(result.name, type.elementType, type.shape);
  });
  const { target, stackTrace } = node;
  const moduleClass = node.modules.at(-1)?.className;
  const call: ProvidedCall = {
    name: first,
    function: target.replace('torch.ops.', ''),
    ...(moduleClass === undefined ? {} : { moduleClass }),
    ...(values.autocast === 'off' ? { isOutsideAutocast: true } : {}),
    stackTrace,
  };
  for (let index = start; index < graph.size; index += 1) lowering.calls.set(index, call);
  addToModule(lowering, node, start);
  return results;
}

/** Of a decomposed program: what `detach` was, and what takes the place of a parameter, which only `no_grad` allows. */
const isDetachedIn = ({ isDecomposed, mutated }: Lowering, node: AtenNode, index: number): boolean =>
  isDecomposed && (isFormerDetach(node) || mutated.has(node.outputs[index] ?? ''));

/** The operands of a call under autocast, in the types that it casts them to. */
function castOperands(
  { graph }: Lowering,
  node: AtenNode,
  path: string,
  { tensors, casts }: Values,
  types: AtenCall['results'],
): TensorLookup {
  const cast = autocastOf(node, types[0]?.elementType, (name) => tensors.get(name)?.elementType);
  if (cast === undefined) return tensors;
  const call = new AtenCall(node, path, graph, tensors, types);
  const own = new Map<string, Tensor>();
  for (const name of cast.names) {
    const tensor = tensors.get(name);
    if (tensor === undefined) continue;
    // Casts of weights alone are remembered (aten/src/ATen/autocast_mode.cpp, `cached_cast`).
    const key = graph.roles.has(tensor.name) ? `${tensor.name}:${cast.type}` : undefined;
    const known = key === undefined ? undefined : casts.get(key);
    const result = known ?? call.cast(tensor, cast.type);
    if (key !== undefined) casts.set(key, result);
    own.set(name, result);
  }
  return { get: (name) => own.get(name) ?? tensors.get(name), has: (name) => tensors.has(name) };
}

function resultsOf(
  lowering: Lowering,
  node: AtenNode,
  path: string,
  tensors: TensorLookup,
  types: AtenCall['results'],
): readonly Tensor[] {
  const { graph, missing } = lowering;
  const name = node.target.startsWith(prefix) ? node.target.slice(prefix.length) : node.target;
  const absent = operandsOf(node).find((operand) => !tensors.has(operand) && !isPacked(node, operand));
  if (absent !== undefined) missing.push({ target: name, operand: absent });
  const call = new AtenCall(node, path, graph, tensors, types);
  const found = absent === undefined ? atenOperators.get(name)?.(call) : undefined;
  return found ?? unknownResults(graph, node, name, path, tensors);
}

/** Weights of recurrent layers that another one stands for. */
const isPacked = ({ arguments: given }: AtenNode, name: string): boolean => {
  const parameters = given.get('params');
  return parameters?.kind === 'tensors' && parameters.names.includes(name);
};

/**
 * A module that runs under `checkpoint` in part, or several times, has a layer `checkpoint` for each call. What is called
 * outside all modules is one only where it is checkpointed.
 */
function addToModule({ graph, layers, checkpoints }: Lowering, node: AtenNode, start: number): void {
  const { modules } = node;
  const group = checkpoints.groupOf.get(node);
  const layer = modules.at(-1);
  if (graph.size === start || layer === undefined || (layer.path === '' && group === undefined)) return;
  const known = layers.get(layer.path);
  const isOwn = known === undefined ? layer.path !== '' : known.group === group;
  const path = isOwn ? layer.path : `${layer.path === '' ? '' : `${layer.path}.`}checkpoint${group ?? ''}`;
  const outer = (isOwn ? modules.slice(0, -1) : modules).flatMap((module) =>
    module.path === '' ? [] : [module.path],
  );
  const type = isOwn ? layer.className.slice(layer.className.lastIndexOf('.') + 1) : 'checkpoint';
  const found = layers.get(path) ?? { type, ancestors: outer, nodes: [], group };
  layers.set(path, found);
  const share = node.arguments.get('dropout_p');
  if (share?.kind === 'number' && share.value > 0) found.attentionDropout = share.value;
  for (let index = start; index < graph.size; index += 1) found.nodes.push(index);
}

function unknownResults(
  graph: GraphBuilder,
  node: AtenNode,
  type: string,
  path: string,
  tensors: TensorLookup,
): readonly Tensor[] {
  const inputs = operandsOf(node).flatMap((name) => tensors.get(name) ?? []);
  const [, namespace = 'python', name = type] = /^torch\.ops\.([^.]+)\.(.+)$/.exec(node.target) ?? [];
  return graph.node(path, namespace, name, inputs, node.outputs.length, {});
}

/** `pt2/operand`: one issue, however many calls read what is not there. */
function missingOperands(missing: Lowering['missing']): readonly Issue[] {
  const [first] = missing;
  if (first === undefined) return [];
  const others = missing.length === 1 ? '' : ` (${missing.length} calls read such tensors)`;
  return [
    {
      code: 'pt2/operand',
      severity: 'error',
      message: `\`${first.target}\` reads \`${first.operand}\`, which nothing before it computes${others}: the program is damaged, export the model again`,
    },
  ];
}

/** `pt2/write`: one issue, however many writes are not followed. */
function lostWrites(lost: Lowering['lost']): readonly Issue[] {
  const [first] = lost;
  if (first === undefined) return [];
  const others = lost.length === 1 ? '' : ` (${lost.length} writes are such)`;
  const place = first.modules.at(-1)?.path ?? '';
  return [
    {
      code: 'pt2/write',
      severity: 'warning',
      message: `\`${first.outputs[0] ?? first.target}\`${place === '' ? '' : ` in \`${place}\``} writes into a view that cannot be followed${others}: weights before it may be missing from the gradients. Export the model again after \`run_decompositions()\``,
    },
  ];
}

/** `pt2/no-gradient`: nothing of the program is trained, although it has weights that ask for it. */
function withoutGradients(
  { inputs, graph }: ExportedProgram,
  outputs: readonly Tensor[],
  detached: ReadonlySet<string>,
): readonly Issue[] {
  const asks = inputs.some(
    ({ name, kind }) => kind === 'parameter' && graph.tensors.get(name)?.requiresGrad === true,
  );
  if (!asks || outputs.length === 0 || !outputs.every(({ name }) => detached.has(name))) return [];
  return [
    {
      code: 'pt2/no-gradient',
      severity: 'warning',
      message:
        'All results of the program are computed without gradients, so that no weight is trained. A checkpoint with `use_reentrant=True` exports so: export the model without it, and set `checkpoint: block`',
    },
  ];
}
