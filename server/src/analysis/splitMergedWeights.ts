/**
 * Weights that are equal when a model is exported, and stored once.
 *
 * Exporters merge equal tensors (torch/onnx/utils.py `_jit_pass_onnx_deduplicate_initializers`; onnxscript's
 * `DeduplicateInitializersPass`). Weights and biases of fresh normalizations are all ones and zeros, and layers that
 * `nn.TransformerEncoder` copies begin alike, so that many layers seem to share one tensor. They are trained apart.
 *
 * A module that a program calls several times is one module, with one path: what it reads is shared indeed. Readers in
 * different modules share a weight that the program ties, which is a table or matrix with contents of its own. They have
 * been merged where the modules are members of one list (`layers.0.fc`, `layers.1.fc`), where all elements are one number,
 * and where the tensor is a vector whose contents are not known: programs tie matrices. The TorchScript exporter says it
 * itself: it keeps the name of each merged parameter, as the output of an Identity. The torch.export-based exporter says
 * which parameter each call reads, and that decides before anything else.
 */

import {
  argumentsOfCall,
  parametersAt,
  placeholdersOfProgram,
  readByCall,
} from '../formats/onnx/recordedCalls.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import { isFloatingPoint } from '../model/elementType.ts';
import { isAnonymousTensor, isBufferName } from '../model/tensorNames.ts';
import { inputOf, isWeightInput } from '../operators/operatorFacts.ts';
import { calledModules } from './calledModules.ts';
import type { FlatNode, StoredGraph } from './expandFunctions.ts';
import { sourceOf } from './sourceOfTensor.ts';
import { parametersOfParts } from './splitMergedParts.ts';
import { holdsGraph } from './subgraphs.ts';
import {
  isAsWritten,
  isParameterPath,
  mergedBy,
  mergesTiedOnly,
  readThroughMerging,
} from './torchScriptMerging.ts';
import { unusedName } from './unusedName.ts';

export const splitMergedWeights = (stored: StoredGraph): StoredGraph =>
  mergesTiedOnly(stored) ? readThroughMerging(stored) : splitByModule(splitByName(stored));

/** Each merged parameter that an Identity names as a tensor of its own. */
function splitByName(stored: StoredGraph): StoredGraph {
  const { nodes, graph } = stored;
  const tensors = new Map(graph.initializers.map((tensor) => [tensor.name, tensor]));
  const copies: TensorLiteral[] = [];
  const remaining = nodes.filter((flat) => {
    const { source, output } = mergedBy(flat) ?? {};
    const tensor = tensors.get(source ?? '');
    if (tensor === undefined || output === undefined || !isParameterPath(output)) return true;
    copies.push({ ...tensor, name: output });
    return false;
  });
  if (copies.length === 0) return stored;
  return { nodes: remaining, graph: { ...graph, initializers: [...graph.initializers, ...copies] } };
}

function splitByModule(stored: StoredGraph): StoredGraph {
  const { nodes, graph } = stored;
  const tensors = new Map<string, TensorLiteral>();
  for (const tensor of graph.initializers) {
    // One number proves nothing by itself, but may be recorded as that of several parameters.
    if (isFloatingPoint(tensor.elementType) && tensor.dimensions.length > 0) tensors.set(tensor.name, tensor);
  }
  // A subgraph sees the values around it by their names.
  if (tensors.size === 0 || nodes.some(({ node }) => holdsGraph(node.attributes))) return stored;
  const taken = new Set([
    ...graph.initializers.map(({ name }) => name),
    ...graph.inputs.map(({ name }) => name),
  ]);
  const copies: TensorLiteral[] = [];
  /** What a node reads at an input instead. */
  const instead = new Map<FlatNode, Map<number, string>>();
  const replaced = new Set<FlatNode>();
  const copyTensor = (tensor: TensorLiteral, name: string, members: readonly Reading[]): void => {
    taken.add(name);
    const { origin, ...rest } = tensor;
    copies.push({ ...rest, name, ...(origin?.kind === 'constant' ? { origin } : {}) });
    for (const { flat, position } of members)
      instead.set(flat, (instead.get(flat) ?? new Map<number, string>()).set(position, name));
  };
  const readingsByName = readingsOf(nodes, tensors);
  const sameModule = new Map([
    ...modulesOfSeveralPaths(readingsByName, tensors),
    ...(isAsWritten(nodes) ? tiedModules(readingsByName, tensors) : []),
  ]);
  const parameterOf = recordedParameters(stored);
  for (const [name, readings] of readingsByName) {
    const tensor = tensors.get(name);
    if (tensor === undefined) continue;
    const recorded = groupByParameter(readings, parameterOf);
    if (wideAxes(tensor) === 0 && recorded?.has(noParameter) !== false) continue;
    if (recorded !== undefined) {
      const kept = recorded.has(sourceOf(tensor)) ? sourceOf(tensor) : [...recorded.keys()][0];
      for (const [parameter, members] of recorded) {
        if (parameter === kept) continue;
        if (parameter === noParameter)
          copyTensor(asConstant(tensor), unusedName(`${name} (constant)`, taken), members);
        else copyTensor(tensor, unusedName(parameter, taken), members);
      }
      continue;
    }
    const trained = readings.filter(({ flat, position }) => !isStatistic(flat, position));
    const byModule = groupByModule(trained, sameModule);
    const home = homeOf(tensor, [...byModule.keys()], trained);
    if (home === undefined) continue;
    const others = [...byModule].filter(([module]) => module !== home.module);
    if (trained.length < readings.length && isBufferName(name)) {
      // A statistic was kept, and what it stands for are weights.
      others.push(...[...byModule].filter(([module]) => module === home.module));
    }
    const copy = (name: string, members: readonly Reading[]): void => copyTensor(tensor, name, members);
    const nameIn = (module: string, leaf: string): string =>
      unusedName(`${module === '' ? '' : `${module}.`}${leaf}`, taken);
    if (others.length > 0 && isMerged(tensor, [...byModule.keys()])) {
      for (const [module, members] of others) {
        const removed = members.find(({ merging }) => merging !== undefined)?.merging;
        if (removed !== undefined) replaced.add(removed);
        copy(removed?.node.outputs[0] ?? nameIn(module, home.leaf), members);
      }
    }
    if (isUniform(tensor) === false) continue;
    for (const [module, members] of byModule) {
      for (const [position, again] of readAgain(members)) {
        const [first] = again;
        const leaf = first && inputOf(first.flat.node, position)?.name;
        if (leaf !== undefined) copy(nameIn(module, leaf), again);
      }
    }
  }
  if (copies.length === 0) return stored;
  return {
    nodes: nodes.flatMap((flat) => {
      const names = instead.get(flat);
      if (replaced.has(flat)) return [];
      if (names === undefined) return [flat];
      const inputs = flat.node.inputs.map((name, position) => names.get(position) ?? name);
      return [{ ...flat, node: { ...flat.node, inputs } }];
    }),
    graph: { ...graph, initializers: [...graph.initializers, ...copies] },
  };
}

/** Scale and shift of a normalization without any are ones and zeros of the exporter, merged with those of one that has both. */
const noParameter = '';
const asConstant = (tensor: TensorLiteral): TensorLiteral => ({ ...tensor, origin: { kind: 'constant' } });

/** By parameter of the program: where the file reads the tensor for it; `undefined` where one reading is not recorded. */
function groupByParameter(
  readings: readonly Reading[],
  parameterOf: ((reading: Reading) => string | undefined) | undefined,
): ReadonlyMap<string, readonly Reading[]> | undefined {
  if (parameterOf === undefined) return undefined;
  const groups = new Map<string, Reading[]>();
  for (const reading of readings) {
    const parameter = parameterOf(reading);
    if (parameter === undefined) return undefined;
    groups.set(parameter, [...(groups.get(parameter) ?? []), reading]);
  }
  return groups;
}

/** The parameter that the exporter recorded for a reading; `undefined` where it recorded no calls. */
function recordedParameters({
  nodes,
  graph,
}: StoredGraph): ((reading: Reading) => string | undefined) | undefined {
  const placeholders = placeholdersOfProgram(graph);
  if (placeholders === undefined) return undefined;
  const sources = new Map(
    graph.initializers
      .filter(({ elementType }) => isFloatingPoint(elementType))
      .map((tensor) => [tensor.name, sourceOf(tensor)]),
  );
  const stored = new Set(sources.values());
  const known = new Map<FlatNode, ReadonlyMap<number, string | undefined>>();
  const leftOpen = parametersLeftOpen(nodes, sources, placeholders);
  const parameterOfParts = parametersOfParts({ nodes, graph });
  const made = new Set([
    ...graph.inputs.map(({ name }) => name),
    ...nodes.flatMap(({ node }) => node.outputs),
  ]);
  const readsNone = ({ node }: FlatNode): boolean => {
    const read = argumentsOfCall(node) ?? [];
    return read.length > 0 && read.every((name) => made.has(name) && !stored.has(name));
  };
  return ({ flat, position }) => {
    if (readsNone(flat)) return noParameter;
    const parts = parameterOfParts?.(flat);
    if (parts?.size === 1) return [...parts.keys()][0];
    const before = known.get(flat);
    if (before !== undefined) return before.get(position);
    const call = readByCall(flat.node, placeholders);
    const called = call ?? [];
    const places = flat.node.inputs.flatMap((name, place) => (sources.has(name) ? [place] : []));
    const own = places.map((place) => sources.get(flat.node.inputs[place] ?? '') ?? '');
    const isWhole = call?.every((name) => own.includes(name)) === true;
    // What the file has a tensor of is that tensor: the other is a number of the call's own.
    const parameters = parametersAt(own, called)
      .map((parameter) => parameter ?? leftOpen(flat))
      .map((parameter, index) =>
        parameter === own[index] || !stored.has(parameter ?? '') ? parameter : undefined,
      )
      .map((parameter, index) => {
        const [source = '', place] = [own[index], places[index]];
        if (parameter !== undefined || place === undefined || !isWhole || !isBufferName(source))
          return parameter;
        // A second call updates the statistics that the first one gave; scale and shift without any are the exporter's.
        return isStatistic(flat, place) ? source : noParameter;
      });
    const found = new Map(places.map((place, index) => [place, parameters[index]]));
    known.set(flat, found);
    return found.get(position);
  };
}

/**
 * The one parameter of a call of several operators that none of its tensors is named after, where one tensor alone is named after none:
 * the bias that stands in an Add behind the product. `undefined` where it stays open.
 */
function parametersLeftOpen(
  nodes: readonly FlatNode[],
  sources: ReadonlyMap<string, string>,
  placeholders: ReadonlyMap<string, string>,
): (flat: FlatNode) => string | undefined {
  let read: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  return ({ node, scope }) => {
    const name = scope.call?.name;
    if (name === undefined) return undefined;
    read ??= sourcesByCall(nodes, sources);
    const own = read.get(name) ?? new Set<string>();
    const called = readByCall(node, placeholders) ?? [];
    const [parameter, ...others] = called.filter((each) => !own.has(each));
    const strangers = [...own].filter((each) => !called.includes(each));
    return others.length === 0 && strangers.length === 1 ? parameter : undefined;
  };
}

/** What all operators of a call read together, by the names that it was stored for. */
function sourcesByCall(
  nodes: readonly FlatNode[],
  sources: ReadonlyMap<string, string>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const read = new Map<string, Set<string>>();
  for (const { node, scope } of nodes) {
    const name = scope.call?.name;
    if (name === undefined) continue;
    const own = read.get(name) ?? new Set<string>();
    for (const source of node.inputs.flatMap((input) => sources.get(input) ?? [])) own.add(source);
    read.set(name, own);
  }
  return read;
}

/**
 * Modules that several others hold, by the path of each place: a matrix of module `proj` is read by `blocks.0.proj` and
 * `blocks.1.proj`. Vectors alone prove nothing, as fresh ones are equal.
 */
function modulesOfSeveralPaths(
  readings: ReadonlyMap<string, readonly Reading[]>,
  tensors: ReadonlyMap<string, TensorLiteral>,
): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  for (const [name, members] of readings) {
    const tensor = tensors.get(name);
    if (tensor === undefined || wideAxes(tensor) < 2 || isUniform(tensor) === true) continue;
    const modules = new Set(members.map(({ module }) => module));
    const home = homeOf(tensor, [...modules], members)?.module;
    if (home === undefined || home === '') continue;
    for (const module of modules) if (module.endsWith(`.${home}`)) paths.set(module, home);
  }
  return paths;
}

/**
 * Modules of one list that read a parameter by its name, where merging another would have kept that one's name: the program ties them,
 * as the heads of an object detector (`box_embed.0` and `box_embed.1` of Deformable DETR), and what it folded of both is tied as well.
 */
function tiedModules(
  readings: ReadonlyMap<string, readonly Reading[]>,
  tensors: ReadonlyMap<string, TensorLiteral>,
): ReadonlyMap<string, string> {
  const tied = new Map<string, string>();
  for (const [name, members] of readings) {
    const tensor = tensors.get(name);
    if (tensor === undefined || !isParameterPath(name) || members.some(({ merging }) => merging)) continue;
    const modules = new Set(members.map(({ module }) => module));
    const home = homeOf(tensor, [...modules], members)?.module;
    if (home === undefined || home === '') continue;
    const list = home.replace(/\d+/g, '#');
    for (const module of modules) if (module.replace(/\d+/g, '#') === list) tied.set(module, home);
  }
  return tied;
}

function groupByModule(
  readings: readonly Reading[],
  sameModule: ReadonlyMap<string, string>,
): ReadonlyMap<string, readonly Reading[]> {
  const groups = new Map<string, Reading[]>();
  for (const reading of readings) {
    const module = sameModule.get(reading.module) ?? reading.module;
    const group = groups.get(module);
    if (group === undefined) groups.set(module, [reading]);
    else group.push(reading);
  }
  return groups;
}

interface Reading {
  readonly flat: FlatNode;
  readonly position: number;
  readonly module: string;
  /** The Identity that it is read through. */
  readonly merging?: FlatNode;
}

/** By tensor that is read more than once: where. */
function readingsOf(
  nodes: readonly FlatNode[],
  tensors: ReadonlyMap<string, TensorLiteral>,
): ReadonlyMap<string, readonly Reading[]> {
  const readings = new Map<string, Reading[]>();
  const moduleOf = calledModules(nodes);
  const mergings = new Map<string, FlatNode>();
  for (const flat of nodes) {
    const merged = mergedBy(flat);
    if (merged !== undefined && tensors.has(merged.source)) {
      mergings.set(merged.output, flat);
      continue;
    }
    for (const [position, name] of flat.node.inputs.entries()) {
      const merging = mergings.get(name);
      const source = merging?.node.inputs[0] ?? name;
      if (!tensors.has(source)) continue;
      const reading = {
        flat,
        position,
        module: moduleOf(flat.scope),
        ...(merging === undefined ? {} : { merging }),
      };
      const others = readings.get(source);
      if (others === undefined) readings.set(source, [reading]);
      else others.push(reading);
    }
  }
  for (const [name, { length }] of readings) if (length < 2) readings.delete(name);
  return readings;
}

/**
 * Vectors that an operator reads as two of its weights, by the place of the second: scale and shift of a normalization that
 * begins with zeros. A program has a parameter for each.
 */
function readAgain(members: readonly Reading[]): ReadonlyMap<number, readonly Reading[]> {
  const first = new Map<FlatNode, number>();
  for (const { flat, position } of members) {
    if (isWeightInput(flat.node, position))
      first.set(flat, Math.min(position, first.get(flat) ?? Number.POSITIVE_INFINITY));
  }
  const again = new Map<number, Reading[]>();
  for (const reading of members) {
    const { flat, position } = reading;
    if (!isWeightInput(flat.node, position) || position === first.get(flat)) continue;
    again.set(position, [...(again.get(position) ?? []), reading]);
  }
  return again;
}

const isStatistic = ({ node }: FlatNode, position: number): boolean =>
  inputOf(node, position)?.role === 'statistic';

interface Home {
  /** The module that the tensor is stored for. */
  readonly module: string;
  /** Its name in there. */
  readonly leaf: string;
}

/** Of the modules that read a tensor: the one that it is named after. A tensor without such a name is a weight by its use. */
function homeOf(
  tensor: TensorLiteral,
  modules: readonly string[],
  readings: readonly Reading[],
): Home | undefined {
  const source = sourceOf(tensor);
  const asWeight = readings.every(({ flat, position }) => position > 0 && isWeightInput(flat.node, position));
  if (!isBufferName(source) || asWeight) {
    const inside = modules.filter((module) => module !== '' && source.startsWith(`${module}.`));
    const module = inside.reduce<string | undefined>(
      (longest, next) => (longest === undefined || next.length > longest.length ? next : longest),
      undefined,
    );
    if (module !== undefined) return { module, leaf: leafOf(source.slice(module.length + 1)) };
  }
  const [first = ''] = modules;
  // A vector that the TorchScript exporter has merged: a scale or shift that it folded into a shape to multiply or add.
  const isFolded = wideAxes(tensor) === 1 && readings.some(({ merging }) => merging !== undefined);
  return isAnonymousTensor(source) && (asWeight || isFolded) ? { module: first, leaf: 'weight' } : undefined;
}

/** A fresh running mean is all zeros like a bias, a running variance all ones like a weight. */
const leafOf = (leaf: string): string =>
  leaf.replace(/running_mean$/, 'bias').replace(/running_var$/, 'weight');

function isMerged(tensor: TensorLiteral, modules: readonly string[]): boolean {
  const lists = new Set(modules.map((module) => module.replace(/\d+/g, '#')));
  return lists.size < modules.length || (isUniform(tensor) ?? wideAxes(tensor) < 2);
}

/** Whether all elements are one number; `undefined` where they are not in the file. */
const isUniform = ({ elements, origin }: TensorLiteral): boolean | undefined =>
  origin?.isUniform ?? elements?.every((element) => element === elements[0]);

const wideAxes = ({ dimensions }: TensorLiteral): number =>
  dimensions.filter((dimension) => dimension !== 1).length;
