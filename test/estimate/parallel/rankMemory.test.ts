/** Memory of a rank of a pipeline by hand: a step of its stages, and micro-batches that wait for their backward. */

import { describe, expect, test } from 'vitest';
import type { PeakMoment, StepMemory } from '../../../server/src/estimate/memory/stepMemory.ts';
import { rankMemory } from '../../../server/src/estimate/parallel/rankMemory.ts';
import { bytes } from '../../../server/src/model/units.ts';
import type { PipelineAction } from '../../../server/src/schedule/pipelineAction.ts';

type Sizes = readonly [
  parameters: number,
  gradients: number,
  state: number,
  activations: number,
  workspace: number,
  buffers: number,
];
const moment = (phase: PeakMoment['phase'], operator: number | undefined, sizes: Sizes): PeakMoment => {
  const [parameters, gradients, state, activations, workspace, buffers] = sizes.map((size) => bytes(size));
  const none = bytes(0);
  return {
    phase,
    operator,
    parameters: parameters ?? none,
    gradients: gradients ?? none,
    optimizerState: state ?? none,
    activations: activations ?? none,
    workspace: workspace ?? none,
    communicationBuffers: buffers ?? none,
  };
};

/** A stage whose micro-batch keeps `kept`. By itself its peak is 410, in the update. */
function stageOf(kept = 10, temporaries = 40): StepMemory {
  const update = moment('update', undefined, [100, 50, 200, 0, temporaries, 20]);
  return {
    parameters: bytes(100),
    gradients: bytes(50),
    optimizerState: bytes(200),
    activations: bytes(kept),
    workspace: bytes(9),
    communicationBuffers: bytes(20),
    peak: bytes(410),
    capacity: bytes(5000),
    peakAt: update,
    mostOfPhases: () => [
      moment('forward', 3, [110, 0, 200, 8, 1, 20]),
      moment('backward', 1, [100, 30, 200, 12, 9, 20]),
      update,
    ],
    largestBatch: () => 0,
  };
}

/** `F0 B0` are forward and backward of stage 0, `I` and `W` the parts of a backward. */
const passes = { F: 'forward', B: 'backward', I: 'backward-input', W: 'backward-weight' } as const;
const actions = (text: string): readonly PipelineAction[] =>
  text.split(' ').map((each): PipelineAction => {
    const [letter = '', stage = '0'] = each;
    const pass = Object.entries(passes).find(([name]) => name === letter)?.[1];
    if (pass === undefined) throw new Error(each);
    return { pass, stage: Number(stage), microBatch: 0 };
  });

describe('of one stage', () => {
  const of = (text: string, memory = stageOf()) => {
    const { peak, peakAt, operator, stage, kinds, capacity } = rankMemory(
      [{ stage: 0, memory }],
      actions(text),
    );
    return {
      peak,
      phase: peakAt.phase,
      operator,
      stage,
      kept: [peakAt.activations, kinds.activations],
      capacity,
    };
  };

  test('a micro-batch after another is a step by itself', () => {
    expect(of('F0 B0 F0 B0')).toEqual({
      peak: 410,
      phase: 'update',
      operator: undefined,
      stage: 0,
      kept: [0, 10],
      capacity: 5000,
    });
  });

  test.each([
    // 100 + 30 + 200 + 12 + 9 + 20 are 371 in backward; each other micro-batch keeps 10.
    ['F0 F0 F0 F0 B0 B0 B0 B0', 410, 'update', [0, 10]],
    ['F0 F0 F0 F0 F0 B0 B0 B0 B0 B0', 411, 'backward', [52, 50]],
    ['F0 F0 F0 F0 F0 F0 B0 F0 B0 F0 B0', 421, 'backward', [62, 60]],
    // Gradients of inputs alone free nothing: two more have gone forward by the first of weights.
    ['F0 F0 F0 F0 F0 I0 F0 I0 W0', 421, 'backward', [62, 60]],
  ])('%s', (text, peak, phase, kept) => {
    expect(of(text)).toMatchObject({ peak, phase, kept, operator: phase === 'update' ? undefined : 1 });
  });

  test('forward may have the peak: it has all that went before', () => {
    const large = {
      ...stageOf(),
      mostOfPhases: () => [
        moment('forward', 3, [110, 0, 200, 108, 1, 20]),
        moment('backward', 1, [100, 30, 200, 12, 9, 20]),
      ],
    };
    // 439, and of three others 30.
    expect(of('F0 F0 F0 F0 B0 B0 B0 B0', large)).toMatchObject({
      peak: 469,
      phase: 'forward',
      operator: 3,
      kept: [138, 40],
    });
  });
});

describe('of two stages', () => {
  const rank = (text: string, first = stageOf(10), second = stageOf(1000)) =>
    rankMemory(
      [
        { stage: 0, memory: first },
        { stage: 3, memory: second },
      ],
      actions(text),
    );

  test('what a stage holds all the time stands beside the other, and so do its micro-batches', () => {
    const { peak, peakAt, stage, operator, kinds } = rank('F0 F0 F3 B3 B0 B0');
    // Backward of stage 3 beside two of stage 0 is 371 + 370 + 20, and the update 410 + 370.
    expect([peak, stage, operator]).toEqual([410 + 370, 0, undefined]);
    expect(peakAt).toEqual({
      phase: 'update',
      parameters: 200,
      gradients: 100,
      optimizerState: 400,
      activations: 0,
      workspace: 40,
      communicationBuffers: 40,
    });
    expect(kinds).toEqual({
      parameters: 200,
      gradients: 100,
      optimizerState: 400,
      activations: 10,
      workspace: 9,
      communicationBuffers: 40,
      peak: 780,
      capacity: 5000,
    });
  });

  test('the stage that computes beside the most is the peak', () => {
    const { peak, stage, operator, peakAt, kinds } = rank('F0 F3 F3 F0 B3 B3 B0 B0');
    // Forward of stage 0 beside two of stage 3 and one of its own: 339 + 370 + 2010; backward of stage 3 beside one and two: 371 + 370 + 1020.
    expect([peak, stage, operator]).toEqual([339 + 370 + 2010, 0, 3]);
    expect([peakAt.phase, peakAt.activations, kinds.activations, peakAt.parameters]).toEqual([
      'forward',
      8 + 2010,
      10 + 2010,
      210,
    ]);
  });
});
