/** What a file of `samples/scripts/programs.py` costs, as a row of `measured/programs.jsonl`. */

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

export interface ProgramCosts {
  /** Elements that are trained. */
  readonly parameters: number;
  readonly forward: number | null;
  readonly backward: number | null;
  /** Bytes that backward keeps, on one GPU in fp32. */
  readonly saved: number;
  /** Seconds of a step on one GPU in bf16, without the update. */
  readonly time: number | null;
  readonly exact: boolean;
  /** Operators whose cost is not known. */
  readonly unknown: readonly string[];
  /** Of issues and of findings that doubt the file, sorted, each once. */
  readonly codes: readonly string[];
}

const framework = { name: 'pytorch-ddp', options: {} };
/** Whether a finding says that the file may differ from the program, as against what the step costs. */
const isOfTheFile = ({ code }: { readonly code: string }): boolean => code === 'findings/trained-adapters';

/** No loss is added: the counts are those of the model as it is. */
const alone: ScenarioRequest = {
  cluster: 'dgx-a100',
  gpus: 1,
  optimizer: 'none',
  loss: 'none',
  framework,
};

export function costProgram(path: string): ProgramCosts {
  const opened = openModel(byteSourceOfBuffer(readFileSync(path)), basename(path));
  const symbol = opened.analysis?.batchSymbol;
  const batch = symbol === undefined ? {} : { batch: 2 };
  const estimate = (request: ScenarioRequest) => {
    const { cost, issues } = estimateModel(opened, [{ ...request, ...batch }]);
    if (cost === undefined) throw new Error(`${path} cannot be costed: ${issues[0]?.message}`);
    return { cost, codes: [...issues, ...cost.findings.filter(isOfTheFile)].map(({ code }) => code) };
  };
  const fp32 = estimate({ ...alone, precision: 'fp32' });
  const one = estimate({ ...alone, precision: 'bf16' });
  const { totals, layers } = fp32.cost;
  const unknown = (opened.analysis?.graph.operators ?? []).flatMap(({ domain, type }) =>
    domain === '' || domain === 'layercost' ? [] : [`${domain}.${type}`],
  );
  return {
    parameters: layers.reduce((sum, layer) => sum + layer.parameters, 0),
    forward: totals.exact ? totals.flops.forward : null,
    backward: totals.exact ? totals.flops.backward : null,
    saved: totals.memory.activations,
    time: one.cost.totals.time.step,
    exact: totals.exact,
    unknown: [...new Set(unknown)].sort(),
    codes: [...new Set([...opened.issues.map(({ code }) => code), ...fp32.codes])].sort(),
  };
}
