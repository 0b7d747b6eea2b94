/** The fuzzer's inputs: each follows from a seed and a number, so that two numbers repeat it anywhere. */

import fc from 'fast-check';
import { frameworks } from '../../server/src/frameworks/registry.ts';
import { builtInClusters } from '../../server/src/hardware/clusters.ts';
import { modes, optimizers, precisions, type ScenarioRequest } from '../../server/src/model/scenario.ts';
import { encodeModel } from '../support/onnxBytes.ts';
import type { FuzzInput } from './answerInput.ts';
import { arbitraryChain, arbitraryModel } from './arbitraryModels.ts';
import { type CorpusFile, longestInput } from './corpus.ts';
import { mutateBytes, mutateText } from './mutate.ts';
import { type Random, randomOf } from './random.ts';

const requests: readonly ScenarioRequest[] = [
  {},
  {},
  { batch: 7 },
  { batch: 1, cluster: 'rtx-3090', precision: 'fp16', optimizer: 'sgd' },
  { mode: 'inference', dimensions: { N: 3, seq: 5, batch: 2 } },
  { dimensions: { N: 0, batch: 0 } },
  { batch: 2 ** 40, dimensions: { N: 2 ** 53, seq: 2 ** 53 }, gpus: 64 },
];

/** Values that options may be given: those they take, and extremes of those that take numbers. */
const optionTexts = ['1', '0', '3', '0.0000001', '1e300', '-1', '', 'nodes', 'x'];

/** A scenario as somebody could ask for it: any framework with any of its options, on any built-in cluster. */
export function anyRequest(random: Random): ScenarioRequest {
  const framework = random.pick(frameworks);
  const options = framework.options.flatMap(({ name, expects }) =>
    random.chance(0.3) ? [[name, random.pick(expects.choices ?? optionTexts)] as const] : [],
  );
  return {
    cluster: random.pick(clusterNames),
    gpus: random.pick([1, 2, 8, 16, 64, 1000]),
    batch: random.pick([1, 7, 32]),
    precision: random.pick(precisions),
    optimizer: random.pick(optimizers),
    mode: random.pick(modes),
    framework: { name: framework.name, options: Object.fromEntries(options) },
  };
}

const clusterNames = builtInClusters.map(({ name }) => name);

/** Input `number` of the run that `seed` names. */
export function fuzzInput(corpus: readonly CorpusFile[], seed: number, number: number): FuzzInput {
  const random = randomOf(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b));
  const request = random.chance(0.5) ? random.pick(requests) : anyRequest(random);
  const choice = random.below(10);
  if (choice < 2) return { ...arbitraryInput(arbitraryModel, random), request };
  if (choice < 4) return { ...arbitraryInput(arbitraryChain, random), request };
  if (choice === 4) return { name: 'any', bytes: anyBytes(random), request };
  const kind = choice < 7 ? 'bytes' : 'text';
  const files = corpus.filter((file) => file.kind === kind);
  const file = random.pick(files);
  const bytes = file.read().subarray(0, longestInput - 10_000);
  const other = random.pick(files).read();
  if (kind === 'bytes') return { name: file.name, bytes: mutateBytes(bytes, other, random), request };
  const [text, otherText] = [bytes, other].map((read) => new TextDecoder().decode(read));
  return {
    name: file.name,
    bytes: new TextEncoder().encode(mutateText(text ?? '', otherText ?? '', random)),
    request,
  };
}

function arbitraryInput(
  arbitrary: typeof arbitraryModel,
  random: Random,
): { readonly name: string; readonly bytes: Uint8Array } {
  const [made] = fc.sample(arbitrary, { numRuns: 1, seed: random.below(2 ** 31) });
  if (made === undefined) throw new Error('fast-check made no model');
  return { name: 'arbitrary.onnx', bytes: encodeModel(made) };
}

function anyBytes(random: Random): Uint8Array {
  const header = encodeModel({ graph: { nodes: [{ type: 'Relu', inputs: ['x'], outputs: ['y'] }] } });
  const bytes = Uint8Array.from({ length: random.below(300) }, () => random.below(256));
  return random.chance(0.5) ? bytes : Uint8Array.from([...header, ...bytes]);
}
