/** What another layout of a large model takes: of the generated graph, and of a real export beside the project. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { ParallelRequest, ScenarioRequest } from '../../server/src/model/scenario.ts';
import { costOf, wholeCostOf } from './costOf.ts';
import { llamaGraph } from './llamaGraph.ts';
import { show, type Time, timed } from './measure.ts';

const runs = 5;

/** In the order in which a person tries them; each is new to the model. */
const layouts: readonly (readonly [string, ParallelRequest])[] = [
  ['tp 2', { tensor: 2 }],
  ['tp 4', { tensor: 4 }],
  ['tp 4, pp 4', { tensor: 4, pipeline: 4 }],
  ['tp 4, pp 8', { tensor: 4, pipeline: 8 }],
  ['tp 2, pp 8', { tensor: 2, pipeline: 8 }],
  ['tp 8, pp 2, two chunks', { tensor: 8, pipeline: 2, chunks: 2, schedule: 'interleaved-1f1b' }],
  ['copies alone', { tensor: 1 }],
];

/** The step of each layout, and all that an editor shows of it; nothing of it has been found before. */
export function showRecosts(root: string): void {
  const request: ScenarioRequest = { cluster: 'dgx-h100', gpus: 64, globalBatch: 256, precision: 'bf16' };
  showModel('llama, 9,000 operators', llamaGraph(9_000), { ...request, dimensions: { sequence: 2048 } });
  const real = join(root, '../shared/models/torch-export/transformers/bert_large_s512.onnx.gz');
  if (existsSync(real)) showModel('BERT large, exported', gunzipSync(readFileSync(real)), request);
  else console.log('the real export: not costed, without ../shared/models/torch-export');
}

function showModel(name: string, bytes: Uint8Array, request: ScenarioRequest): void {
  const times = layouts.map((): { readonly step: Time[]; readonly shown: Time[] } => ({
    step: [],
    shown: [],
  }));
  for (let run = 0; run <= runs; run += 1) {
    for (const kind of ['step', 'shown'] as const) {
      const opened = openModel(byteSourceOfBuffer(bytes), 'model.onnx');
      for (const [index, [, parallel]] of layouts.entries()) {
        const time = timed(() =>
          askOf[kind](opened, { ...request, parallel: { microBatch: 1, ...parallel } }),
        );
        if (run > 0) times[index]?.[kind].push(time);
      }
    }
  }
  for (const [index, [layout]] of layouts.entries()) {
    const first = index === 0 ? ', first cost' : '';
    show(`${name}: ${layout}${first}`, times[index]?.step ?? []);
    show('  with all that is shown of it', times[index]?.shown ?? []);
  }
}

const askOf: Readonly<Record<'step' | 'shown', (opened: OpenedModel, request: ScenarioRequest) => unknown>> =
  {
    step: (opened, request) => costOf(opened, request).totals.time.step,
    shown: wholeCostOf,
  };
