/** Schedules of pipelines by their names in PyTorch, which torchtitan takes too. */

import { type PipelineScheduleName, pipelineSchedules } from './scenario.ts';

/** Absent: PyTorch has none. Source: PyTorch 2.13, torch/distributed/pipelining/schedules.py, `get_schedule_class`. */
export const pytorchSchedules: Readonly<Partial<Record<PipelineScheduleName, string>>> = {
  gpipe: 'GPipe',
  '1f1b': '1F1B',
  'interleaved-1f1b': 'Interleaved1F1B',
  'looped-bfs': 'LoopedBFS',
  'zb-h1': 'InterleavedZeroBubble',
  'zb-v': 'ZBVZeroBubble',
  'dualpipe-v': 'DualPipeV',
};

/** Case is ignored, as in PyTorch. */
export const scheduleOfPytorch = (name: string): PipelineScheduleName | undefined =>
  pipelineSchedules.find((each) => pytorchSchedules[each]?.toLowerCase() === name.toLowerCase());

/**
 * Stages of a rank where a command line of torchtitan does not say how many layers each has: pytorch/torchtitan 000204a4,
 * torchtitan/distributed/pipeline_parallel.py, `pipeline_llm`.
 */
export const stagesOfTorchtitan = (schedule: PipelineScheduleName): number =>
  schedule === 'gpipe' || schedule === '1f1b' ? 1 : 2;
