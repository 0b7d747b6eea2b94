/** What the state of the machine says about measured times. */

import { describe, expect, it } from 'vitest';
import { type MachineState, stateNotes, stateText } from '../../server/src/benchmark/machineState.ts';

const idle = { megahertz: 345, mostMegahertz: 1980, watts: 70, mostWatts: 700, celsius: 36, busy: 0 };
const loaded = { megahertz: 1755, mostMegahertz: 1980, watts: 645.4, mostWatts: 700, celsius: 71, busy: 1 };
const quiet: MachineState = {
  versions: { driver: '550.54.15', cudnn: '9.1.0', nccl: null },
  gpu: { before: idle, during: loaded, after: idle, heldBackBy: [] },
  coresOfOthers: { before: 0.1, during: 0.2 },
};
const onCpu: MachineState = {
  ...quiet,
  versions: { driver: null, cudnn: null, nccl: null },
  gpu: null,
};
const gpu = (changes: Partial<NonNullable<MachineState['gpu']>>): MachineState => ({
  ...quiet,
  gpu: { before: idle, during: loaded, after: idle, heldBackBy: [], ...changes },
});
const others = (before: number | null, during: number | null): MachineState => ({
  ...onCpu,
  coresOfOthers: { before, during },
});

describe('notes', () => {
  it.each<readonly [string, MachineState, readonly string[]]>([
    ['nothing beside', quiet, []],
    [
      'a busy GPU',
      gpu({ before: { ...idle, busy: 0.37 } }),
      ['The GPU was busy 37 % of the time before the benchmark: stop what runs on it, and measure again'],
    ],
    [
      'a clock held down',
      gpu({ heldBackBy: ['the power limit', 'heat'] }),
      ['The power limit and heat held the clock of the GPU down: 1755 of 1980 MHz'],
    ],
    [
      'a clock held down that is not told',
      gpu({ heldBackBy: ['heat'], during: { ...loaded, megahertz: null } }),
      ['Heat held the clock of the GPU down'],
    ],
    ['others on few cores', others(0.1, 0.2), []],
    ['others', others(0.1, 1.4), ['Other processes kept 1.4 cores busy: stop them, and measure again']],
    [
      'others before only',
      others(1.4, null),
      ['Other processes kept 1.4 cores busy: stop them, and measure again'],
    ],
    ['nothing known', others(null, null), []],
  ])('%s', (_, state, notes) => {
    expect(stateNotes(state)).toEqual(notes);
  });
});

describe('text', () => {
  it.each<readonly [string, MachineState, string]>([
    ['of a GPU', quiet, 'clock 1755 of 1980 MHz, 645 of 700 W, 36 to 71 °C, driver 550.54.15, cuDNN 9.1.0'],
    ['before it worked', gpu({ during: null, after: null }), 'driver 550.54.15, cuDNN 9.1.0'],
    ['of a CPU', onCpu, ''],
  ])('%s', (_, state, text) => {
    expect(stateText(state)).toBe(text);
  });
});
