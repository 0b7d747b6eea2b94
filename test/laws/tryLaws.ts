/** Draws scenarios and holds every law against them. */

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readShared, sharedModels } from '../support/sharedModels.ts';
import { commandOf, type DrawnModel, scenariosOver } from './drawScenario.ts';
import { costCase, type Law, lawsOfChange, lawsOfOne } from './laws.ts';

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

export interface Broken {
  readonly law: string;
  /** What is wrong. */
  readonly what: string;
  /** What a person types to see it. */
  readonly command: string;
}

export interface Trial {
  /** Scenarios that could be costed. */
  readonly costed: number;
  readonly broken: readonly Broken[];
}

/** Files of the project that are small enough to be costed hundreds of times. */
const files = [
  'samples/alexnet.prototxt',
  'samples/alexnet.layers.yaml',
  'samples/resnet50.layers.yaml',
  'samples/mobilenet_v2.onnx',
  'samples/gpt2.layers.yaml',
];

/** Exported networks that lie beside the project, where it has them. */
const sharedFiles = sharedModels('timm-train', 'torch-export').filter((_, index) => index % 12 === 0);

/** So many laws of change are tried on each case: each costs the model again. */
const changes = 2;

/** `isThorough`: every law is tried on each case, over the models beside the project too. */
export function tryLaws(seed: number, scenarios: number, isThorough = false): Trial {
  const opened = new Map<string, OpenedModel>();
  const broken: Broken[] = [];
  let costed = 0;
  for (const drawn of fc.sample(scenariosOver(isThorough ? [...files, ...sharedFiles] : files), {
    seed,
    numRuns: scenarios,
  })) {
    const model = open(drawn.model, opened);
    const found = costCase(model, drawn.request);
    if (found === undefined) continue;
    costed += 1;
    const again = Object.entries(lawsOfChange);
    const chosen = isThorough
      ? again
      : Array.from({ length: changes }, (_, index) => again[(drawn.again + 3 * index) % again.length]);
    for (const entry of [...Object.entries(lawsOfOne), ...chosen]) {
      if (entry === undefined) continue;
      const [law, holds] = entry;
      const what = tryLaw(holds, found);
      if (what !== '') broken.push({ law, what, command: commandOf(drawn) });
    }
  }
  return { costed, broken };
}

function tryLaw(law: Law, of: Parameters<Law>[0]): string {
  try {
    return law(of);
  } catch (error) {
    return `throws ${error instanceof Error ? error.stack : String(error)}`;
  }
}

function open(model: DrawnModel, known: Map<string, OpenedModel>): OpenedModel {
  const key = model.kind === 'text' ? model.text : model.path;
  const before = known.get(key);
  if (before !== undefined) return before;
  const name = model.kind === 'text' ? 'drawn.layers.yaml' : model.path.replace(/\.gz$/, '');
  const opened = openModel(byteSourceOfBuffer(bytesOf(model)), name);
  known.set(key, opened);
  return opened;
}

function bytesOf(model: DrawnModel): Uint8Array {
  if (model.kind === 'text') return new TextEncoder().encode(model.text);
  return sharedFiles.includes(model.path) ? readShared(model.path) : readFileSync(model.path);
}

/** `npm run laws [-- --seed S --scenarios N]`: prints what is broken, and gives whether nothing is. */
export function printTrial(seed: number, scenarios: number, isThorough: boolean): boolean {
  const { costed, broken } = tryLaws(seed, scenarios, isThorough);
  const shown = new Map<string, number>();
  for (const { law, what, command } of broken) {
    const count = (shown.get(law) ?? 0) + 1;
    shown.set(law, count);
    if (count <= 5) print(`${law}: ${what}\n${command}\n`);
  }
  print(`seed ${seed}: ${costed} of ${scenarios} scenarios costed, ${broken.length} times a law was broken`);
  for (const [law, count] of shown) print(`  ${count} × ${law}`);
  return broken.length === 0;
}
