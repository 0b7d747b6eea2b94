/** What a person reads of a traced step. */

import { expect, it } from 'vitest';
import type { MeasuredTrace } from '../../server/src/benchmark/runTrace.ts';
import { traceLines } from '../../server/src/benchmark/traceLines.ts';
import { seconds } from '../../server/src/model/units.ts';

const kernels = (longest: string) => ({ seconds: 2e-3, kernels: 3, longest });
const traced: Omit<MeasuredTrace, 'device'> = {
  step: {
    onDevice: true,
    span: 0.0767,
    busy: 0.0275,
    longestGap: 0.0042,
    update: { seconds: 276e-6, kernels: 9 },
    others: { seconds: 0, kernels: 0 },
  },
  layers: new Map([
    ['relu', { forward: kernels('void at::native::(anonymous namespace)::clamp_scalar<at::BFloat16>(int)') }],
  ]),
  untraced: seconds(0.0287),
  file: new Uint8Array(),
  notes: [],
};
const device = { kind: 'cuda', name: 'NVIDIA H200', torch: '2.11.0', precision: 'bf16' } as const;

it('tells waiting under the profiler from waiting without it', () => {
  const lines = traceLines({ ...traced, device }, ['relu']);
  expect(lines).toContain(
    'it waited 49.2 ms for the host, which the profiler slows, at most 4.20 ms at once',
  );
  expect(lines).toContain('without the profiler the step takes 28.7 ms; the device waits 1.20 ms of it');
});

it('names a kernel without the places where libraries keep it', () => {
  expect(traceLines({ ...traced, device }, ['relu'])).toMatch(/ {2}clamp_scalar<BFloat16>\(int\)$/m);
});
