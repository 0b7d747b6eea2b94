/**
 * Where stored tensors come from, which an exporter may record and their bytes may show.
 *
 * PyTorch 2.9 and later record it for each stored tensor (`value_info.metadata_props`): whether `torch.export` takes it as
 * a parameter or a buffer (torch/onnx/_internal/exporter/_core.py), and what constant folding computed it from
 * (onnxscript/optimizer/_constant_folding.py). Other files show a folded transpose by its bytes alone.
 */

import type { RepeatedVectors, TensorLiteral, TensorOrigin } from '../../model/attribute.ts';
import { countElements } from '../../model/countElements.ts';
import { isFloatingPoint, isInteger } from '../../model/elementType.ts';
import { isAnonymousTensor, isArithmeticName, isLookUpName, isViewName } from '../../model/tensorNames.ts';
import type { ByteSource } from '../byteSource.ts';
import { parametersOfProgram, storedInProgram } from './graphSignature.ts';
import type { PayloadRange } from './reading.ts';
import { argumentsOfCall } from './recordedCalls.ts';
import { repeatedIntegers, repeatedVectors } from './repeatedVectors.ts';
import type { OnnxGraph, OnnxValueInfo } from './syntax.ts';

/** The initializers of `graph` with their origins; the same objects where nothing is known of any. */
export function withOrigins(
  graph: OnnxGraph,
  source: ByteSource,
  payloads: ReadonlyMap<TensorLiteral, PayloadRange>,
): readonly TensorLiteral[] {
  const { initializers } = graph;
  const recorded = new Map<string, TensorOrigin>();
  const parameters = parametersOfProgram(graph);
  const isMadeInStep = madeInStep(graph);
  for (const info of graph.valueInfos) {
    const origin = recordedOrigin(info, parameters);
    if (origin !== undefined) recorded.set(info.name, origin);
  }
  const samples = sampleTensors(source, payloads);
  // An optimizer that ran behind another exporter records only what it folded itself.
  const transposes = findTransposes(
    initializers.filter(({ name }) => recorded.get(name)?.foldedFrom === undefined),
    samples,
  );
  const copies = findCopies(initializers, samples);
  const shared = readSeveralTimes(graph);
  return initializers.map((tensor) => {
    const { name } = tensor;
    const known = recorded.get(name);
    const repeats = repeatsOf(tensor, known, source, payloads.get(tensor));
    const transposeOf = transposes.get(name);
    const copyOf = copies.get(name);
    const isUniform = shared.has(name) ? samples.isUniform(tensor) : undefined;
    const origin = {
      ...known,
      ...(repeats === undefined ? {} : { repeats }),
      ...(isMadeInStep(tensor, known) ? { isMadeInStep: true as const } : {}),
      ...(transposeOf === undefined ? {} : { transposeOf }),
      ...(copyOf === undefined ? {} : { copyOf }),
      ...(isUniform === undefined ? {} : { isUniform }),
    };
    return Object.keys(origin).length === 0 ? tensor : { ...tensor, origin };
  });
}

function repeatsOf(
  tensor: TensorLiteral,
  known: TensorOrigin | undefined,
  source: ByteSource,
  range: PayloadRange | undefined,
): RepeatedVectors | undefined {
  const expansion = expansionOf(tensor, known);
  if (isInteger(tensor.elementType))
    return expansion !== 'none' && known?.foldedFrom !== undefined
      ? repeatedIntegers(tensor, source, range)
      : undefined;
  return mayBeLookedUp(tensor, known) ? repeatedVectors(tensor, source, range, expansion) : undefined;
}

/**
 * Constant folding recorded more than one source, of which one is trained, and did not only compute with it: rows of a
 * parameter may begin alike; or nothing is recorded of a tensor that the exporter
 * named, which has the shape of a bias of attention scores.
 */
function mayBeLookedUp(
  { name, dimensions, elementType }: TensorLiteral,
  known: TensorOrigin | undefined,
): boolean {
  if (known?.foldedFrom !== undefined) {
    const made = [name, ...known.foldedFrom];
    if (made.some(isArithmeticName) && !made.some(isLookUpName)) return false;
    return known.parameter !== undefined && known.foldedFrom.length > 1;
  }
  const wide = dimensions.filter((size) => size > 1);
  return wide.length === 3 && wide[1] === wide[2] && isAnonymousTensor(name) && isFloatingPoint(elementType);
}

/** Whether constant folding recorded that it repeats a parameter, which is done for each image of a batch, and turns it then. */
function expansionOf(
  { name }: TensorLiteral,
  known: TensorOrigin | undefined,
): 'none' | 'as it is' | 'transposed' {
  const made = [name, ...(known?.foldedFrom ?? [])];
  if (!made.some((each) => /^(_?expand|repeat)(_\d+)*$/.test(each))) return 'none';
  return made.some((each) => /^(transpose|permute)(_\d+)*$/.test(each)) ? 'transposed' : 'as it is';
}

/** `parameters`: all that the program has, where they are recorded. */
function recordedOrigin(
  { metadata }: OnnxValueInfo,
  parameters: ReadonlySet<string> | undefined,
): TensorOrigin | undefined {
  if (metadata === undefined) return undefined;
  const kind = kinds[metadata.get('pkg.torch.export.graph_signature.InputSpec.kind') ?? ''];
  const folded = metadata.get('pkg.onnxscript.optimizer.folded_from');
  if (folded === undefined) return kind === undefined ? undefined : { kind };
  const foldedFrom = [...folded.matchAll(/'([^']*)'/g)].map(([, name = '']) => name);
  if (parameters === undefined) return { ...(kind === undefined ? {} : { kind }), foldedFrom };
  const trained = foldedFrom.filter((name) => parameters.has(name));
  const [parameter] = trained;
  return {
    kind: parameter === undefined ? 'constant' : 'parameter',
    foldedFrom,
    ...(parameter === undefined ? {} : trained.length > 1 ? { parameters: trained } : { parameter }),
  };
}

/**
 * Tells tensors that calls of the program compute: a call is recorded that reads one by its name, it was folded from what is not
 * stored, and not all of that are views. The exporter's own tensors are in no call.
 */
function madeInStep(graph: OnnxGraph): (tensor: TensorLiteral, known: TensorOrigin | undefined) => boolean {
  const stored = storedInProgram(graph) ?? new Set<string>();
  let named: ReadonlySet<string> | undefined;
  return ({ name, dimensions }, known) => {
    if (known?.foldedFrom === undefined || known.kind === 'parameter') return false;
    if (dimensions.every((size) => size === 1)) return false;
    const isComputed = [name, ...known.foldedFrom].some(
      (each) => !stored.has(each) && !isAnonymousTensor(each) && !isViewName(each),
    );
    named ??= new Set(graph.nodes.flatMap((node) => argumentsOfCall(node) ?? []));
    return isComputed && named.has(name);
  };
}

/** `torch.export.graph_signature.InputKind`. */
const kinds: Readonly<Record<string, TensorOrigin['kind']>> = {
  PARAMETER: 'parameter',
  BUFFER: 'buffer',
  CONSTANT_TENSOR: 'constant',
};

function readSeveralTimes({ nodes }: OnnxGraph): ReadonlySet<string> {
  const once = new Set<string>();
  const several = new Set<string>();
  for (const { inputs } of nodes) {
    for (const name of inputs) {
      if (once.has(name)) several.add(name);
      else once.add(name);
    }
  }
  return several;
}

/** Of matrices that the exporter named itself: the named one whose transpose each is. */
function findTransposes(
  initializers: readonly TensorLiteral[],
  samples: TensorSamples,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const named = new Map<string, TensorLiteral[]>();
  const shapeKey = (tensor: TensorLiteral, dimensions: readonly number[]) =>
    `${tensor.elementType} ${dimensions.join(' ')}`;
  for (const tensor of initializers) {
    if (tensor.dimensions.length !== 2 || isAnonymousTensor(tensor.name)) continue;
    const key = shapeKey(tensor, tensor.dimensions);
    const others = named.get(key);
    if (others === undefined) named.set(key, [tensor]);
    else others.push(tensor);
  }
  if (named.size === 0) return found;
  for (const tensor of initializers) {
    if (tensor.dimensions.length !== 2 || !isAnonymousTensor(tensor.name)) continue;
    const [rows = 0, columns = 0] = tensor.dimensions;
    const candidates = named.get(shapeKey(tensor, [columns, rows])) ?? [];
    const original = candidates
      .slice(0, mostCandidates)
      .find((candidate) => samples.isTranspose(tensor, candidate));
    if (original !== undefined) found.set(tensor.name, original.name);
  }
  return found;
}

/** Of tensors of three axes that the exporter named itself, as weights of recurrent layers: the first that each is equal to. */
function findCopies(
  initializers: readonly TensorLiteral[],
  samples: TensorSamples,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const first = new Map<string, string>();
  for (const tensor of initializers) {
    const { name, dimensions, elementType } = tensor;
    if (dimensions.length !== 3 || !isAnonymousTensor(name) || !isFloatingPoint(elementType)) continue;
    const fingerprint = samples.fingerprint(tensor);
    if (fingerprint === undefined) continue;
    const key = `${elementType} ${dimensions.join(' ')} ${fingerprint}`;
    const before = first.get(key);
    if (before === undefined) first.set(key, name);
    else found.set(name, before);
  }
  return found;
}

/** Weights of one shape that a matrix is compared with: a tied one is among the first. */
const mostCandidates = 64;

interface TensorSamples {
  /** Whether the sampled elements are all the same bytes; `undefined` where the file does not hold them. */
  readonly isUniform: (tensor: TensorLiteral) => boolean | undefined;
  /** The sampled elements; `undefined` where the file does not hold them, or they are all alike. */
  readonly fingerprint: (tensor: TensorLiteral) => string | undefined;
  /** Whether the sampled elements of two matrices are the same at transposed places, and not all alike. */
  readonly isTranspose: (tensor: TensorLiteral, original: TensorLiteral) => boolean;
}

/**
 * Compares a sample of elements byte by byte, at most `sampledElements` of a tensor: nothing is decoded. Trained or
 * random fp32 weights agree in one place by chance once in millions.
 */
function sampleTensors(
  source: ByteSource,
  payloads: ReadonlyMap<TensorLiteral, PayloadRange>,
): TensorSamples {
  /** The bytes of elements `indices`, as texts. */
  const elementsAt = (tensor: TensorLiteral, indices: readonly number[]): readonly string[] | undefined => {
    const range = payloads.get(tensor);
    const count = countElements(tensor.dimensions);
    const width = range === undefined ? 0 : (range.end - range.start) / count;
    if (range === undefined || !Number.isInteger(width) || width < 1) return undefined;
    return indices.map((index) => source.read(range.start + index * width, width).join());
  };
  const areAlike = (texts: readonly string[]): boolean => texts.every((text) => text === texts[0]);
  const sampled = (tensor: TensorLiteral): readonly string[] | undefined =>
    elementsAt(tensor, sampledPlaces(tensor.dimensions.reduce((left, right) => left * right, 1)));
  return {
    isUniform: (tensor) => {
      const texts = sampled(tensor);
      return texts === undefined ? undefined : areAlike(texts);
    },
    fingerprint: (tensor) => {
      const texts = sampled(tensor);
      return texts === undefined || areAlike(texts) ? undefined : texts.join(' ');
    },
    isTranspose: (tensor, original) => {
      const [rows = 0, columns = 0] = tensor.dimensions;
      const places = sampledPlaces(rows * columns);
      const left = elementsAt(tensor, places);
      if (left === undefined || areAlike(left)) return false;
      const transposed = places.map((place) => (place % columns) * rows + Math.floor(place / columns));
      const right = elementsAt(original, transposed);
      return right?.every((text, index) => text === left[index]) ?? false;
    },
  };
}

const sampledElements = 32;

/** Places spread over `count` elements by the golden ratio, so that they meet all rows and columns evenly. */
const sampledPlaces = (count: number): readonly number[] =>
  Array.from({ length: sampledElements }, (_, index) =>
    Math.min(count - 1, Math.floor((((index + 1) * 0.618_033_988_749_894_9) % 1) * count)),
  );
