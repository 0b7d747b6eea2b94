/** The scenario of a step as reports have it: resolved, and plain. */

import type { LowRankAdapters } from '../../model/scenario.ts';
import type { StepCost } from '../../model/stepCost.ts';
import type { Report } from './report.ts';

const loraOf = ({ rank, layers, dropout, base }: LowRankAdapters): Report['scenario']['lora'] => ({
  rank,
  ...(layers === undefined ? {} : { layers: [...layers] }),
  ...(dropout === undefined ? {} : { dropout }),
  ...(base === undefined ? {} : { base }),
});

export const reportScenario = ({ scenario, gpu, device }: StepCost): Report['scenario'] => ({
  cluster: scenario.cluster,
  gpu,
  ...(device === 'GPU' ? {} : { device }),
  nodes: scenario.nodes,
  gpus: scenario.gpus,
  batchPerGpu: scenario.batchPerGpu,
  ...(scenario.globalBatch === undefined ? {} : { globalBatch: scenario.globalBatch }),
  ...(scenario.accumulate === undefined ? {} : { accumulate: scenario.accumulate }),
  dimensions: { ...scenario.dimensions },
  precision: scenario.precision,
  optimizer: scenario.optimizer,
  framework: scenario.framework.name,
  ...(Object.keys(scenario.framework.options).length === 0
    ? {}
    : { frameworkOptions: { ...scenario.framework.options } }),
  mode: scenario.mode,
  ...(scenario.past === undefined ? {} : { past: scenario.past }),
  ...(scenario.loss === undefined ? {} : { loss: scenario.loss }),
  ...(scenario.checkpoint === undefined ? {} : { checkpoint: scenario.checkpoint }),
  ...(scenario.parallel === undefined ? {} : { parallel: { ...scenario.parallel } }),
  ...(scenario.freeze === undefined ? {} : { freeze: [...scenario.freeze] }),
  ...(scenario.lora === undefined ? {} : { lora: loraOf(scenario.lora) }),
  ...(scenario.measuredStep === undefined ? {} : { measuredStep: scenario.measuredStep }),
});
