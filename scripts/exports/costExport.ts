/** What an exported model costs, as a row of `measured/exports.jsonl`. */

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

export interface ExportCosts {
  /** Elements that are trained. */
  readonly parameters: number;
  /** Of forward. */
  readonly flops: number | null;
  /** Bytes that backward keeps, on one GPU in fp32. */
  readonly saved: number;
  /** Seconds of a step on one GPU in bf16, without the update. */
  readonly time: number | null;
  /** Seconds of a step on eight GPUs under DDP in bf16. */
  readonly clusterTime: number | null;
  /** Bytes of all gradient messages of that step. */
  readonly messages: number;
  readonly exact: boolean;
  /** Of issues and findings of both, sorted, each once. */
  readonly codes: readonly string[];
}

const framework = { name: 'pytorch-ddp', options: {} };
const alone: ScenarioRequest = { cluster: 'dgx-a100', gpus: 1, optimizer: 'none', framework };

export function costExport(path: string): ExportCosts {
  const opened = openModel(byteSourceOfBuffer(readFileSync(path)), basename(path));
  const estimate = (request: ScenarioRequest) => {
    const { cost, issues } = estimateModel(opened, [request]);
    if (cost === undefined) throw new Error(`${path} cannot be costed: ${issues[0]?.message}`);
    return { cost, codes: [...issues, ...cost.findings].map(({ code }) => code) };
  };
  const fp32 = estimate({ ...alone, precision: 'fp32' });
  const one = estimate({ ...alone, precision: 'bf16' });
  const eight = estimate({ ...alone, gpus: 8, precision: 'bf16' });
  const { totals, layers } = fp32.cost;
  return {
    parameters: layers.reduce((sum, layer) => sum + layer.parameters, 0),
    flops: totals.exact ? totals.flops.forward : null,
    saved: totals.memory.activations,
    time: one.cost.totals.time.step,
    clusterTime: eight.cost.totals.time.step,
    messages: (eight.cost.messages ?? []).reduce((sum, message) => sum + message.bytes, 0),
    exact: totals.exact,
    codes: [...new Set([...fp32.codes, ...one.codes, ...eight.codes])].sort(),
  };
}
