/** Who runs a pipeline with which schedule: DeepSpeed has 1F1B alone, and Megatron-LM no zero bubbles. */

import { describe, expect, it } from 'vitest';
import {
  copies,
  megatronCopies,
  runnerOf,
  selectionOf,
  shardedUpdate,
  sharesUpdate,
} from '../../../server/src/estimate/planner/copyFrameworks.ts';
import type { FrameworkChoice, PipelineScheduleName } from '../../../server/src/model/scenario.ts';

describe('pipelines', () => {
  it.each<readonly [PipelineScheduleName, FrameworkChoice, string | undefined]>([
    ['1f1b', shardedUpdate, 'deepspeed-zero'],
    ['interleaved-1f1b', shardedUpdate, 'torchtitan'],
    ['zb-v', shardedUpdate, 'torchtitan'],
    ['interleaved-1f1b', megatronCopies, 'megatron'],
    ['zb-h1', megatronCopies, 'torchtitan'],
    ['v-min', megatronCopies, undefined],
    ['zb-v', copies, 'pytorch-ddp'],
    ['zb-v', { name: 'deepspeed-zero', options: { stage: '2' } }, undefined],
    ['zb-v', { name: 'megatron', options: {} }, undefined],
  ])('%s, beside %o', (schedule, framework, runner) => {
    expect(runnerOf(framework, schedule, true)?.name).toBe(runner);
    // torchtitan has language models alone.
    const other = runner === 'torchtitan' ? undefined : runner;
    expect(runnerOf(framework, schedule, false)?.name).toBe(other);
  });
});

it.each([
  [shardedUpdate, true, 'selective'],
  [megatronCopies, true, 'attention'],
  [copies, false, 'selective'],
  [{ name: 'deepspeed-zero', options: { stage: '3' } }, false, 'selective'],
  [{ name: 'megatron', options: {} }, false, 'attention'],
  [{ name: 'torchtitan', options: {} }, false, 'alternate'],
])('%o', (framework, shares, selection) => {
  expect([sharesUpdate(framework), selectionOf(framework)]).toEqual([shares, selection]);
});
