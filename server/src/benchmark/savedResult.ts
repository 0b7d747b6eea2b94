/** What one benchmark measured, as it is kept in the workspace: what ran, where, how it ended, and every time. */

import { z } from 'zod';
import type { LayerMeasurements } from '../model/measurement.ts';
import { seconds } from '../model/units.ts';
import { type BenchmarkMeasurements, type MeasuredLayer, originOf } from './benchmarkMeasurements.ts';
import { askedSchema, type Computation, conditionsSchema } from './computation.ts';
import { deviceSchema } from './deviceSchema.ts';
import { layerSumLines } from './layerSum.ts';
import { type Machine, machineSchema } from './machine.ts';
import { machineStateSchema, stateNotes } from './machineState.ts';

/** Raised when an older version could misread a newer file. */
const savedVersion = 1;

const time = z.number().nonnegative().transform(seconds);
/** A key that is absent in the file is absent here too. */
const optionalTime = time.exactOptional();
const quartiles = z.object({ low: time, high: time });

export const savedResultSchema = z.object({
  version: z.literal(savedVersion),
  model: z.string(),
  /** Of the model, from the folder of the workspace, with `#NAME` for one of several. */
  file: z.string(),
  /** ISO 8601, UTC. */
  measuredAt: z.iso.datetime(),
  /** Why the run ended before everything was measured; null where it did not. */
  endedEarly: z.string().nullable(),
  machine: machineSchema,
  device: deviceSchema,
  machineState: machineStateSchema.exactOptional(),
  computation: z.object({
    conditions: conditionsSchema,
    asked: askedSchema.exactOptional(),
    dimensions: z.record(z.string(), z.number()),
    fingerprint: z.string(),
  }),
  step: z
    .object({
      whole: time,
      quartiles,
      forward: optionalTime,
      backward: optionalTime,
      update: optionalTime,
      peakMemoryBytes: z.number().nonnegative().exactOptional(),
      peakReservedBytes: z.number().nonnegative().exactOptional(),
      host: optionalTime,
      repeats: z.number().int().positive(),
      again: optionalTime,
    })
    .optional(),
  gradientSums: z.object({ count: z.number().int().nonnegative(), seconds: time }).exactOptional(),
  /** By position in the model: the names are what they were called at the time. */
  layers: z.array(
    z.object({
      position: z.number().int().nonnegative(),
      name: z.string(),
      type: z.string(),
      forward: optionalTime,
      forwardQuartiles: quartiles.exactOptional(),
      backward: optionalTime,
      backwardQuartiles: quartiles.exactOptional(),
      dataGradient: optionalTime,
      weightGradient: optionalTime,
      host: z
        .object({
          forward: optionalTime,
          backward: optionalTime,
          dataGradient: optionalTime,
          weightGradient: optionalTime,
        })
        .exactOptional(),
      forwardInStep: optionalTime,
    }),
  ),
  notMeasured: z.array(z.object({ layer: z.string(), reason: z.string() })),
  notes: z.array(z.string()),
});
export type SavedResult = z.infer<typeof savedResultSchema>;

export interface Run {
  readonly model: string;
  readonly file: string;
  readonly layers: readonly { readonly name: string; readonly type: string }[];
  readonly computation: Computation;
  readonly machine: Machine;
  readonly measuredAt: Date;
  readonly endedEarly: string | undefined;
}

export function savedResult(run: Run, measured: BenchmarkMeasurements): SavedResult {
  const { device } = measured;
  return {
    version: savedVersion,
    model: run.model,
    file: run.file,
    measuredAt: run.measuredAt.toISOString(),
    endedEarly: run.endedEarly ?? null,
    machine: run.machine,
    device: { ...device },
    ...(measured.machineState === undefined ? {} : { machineState: measured.machineState }),
    computation: { ...run.computation, dimensions: { ...run.computation.dimensions } },
    ...(measured.wholeStep === undefined ? {} : { step: measured.wholeStep }),
    ...(measured.gradientSums === undefined ? {} : { gradientSums: measured.gradientSums }),
    layers: run.layers.flatMap(({ name, type }, position) => {
      const times = measured.layers.get(name);
      return times === undefined ? [] : [{ position, name, type, ...times }];
    }),
    notMeasured: [...measured.notMeasured].map(([layer, reason]) => ({ layer, reason })),
    notes: [...measured.notes],
  };
}

/** The times under the names that the layers have now; only for a model that computes what was measured. */
export function measurementsOf(saved: SavedResult, names: readonly string[]): LayerMeasurements {
  const sums = layerSumLines(
    {
      layers: new Map(saved.layers.map((layer) => [layer.name, layer])),
      notMeasured: new Map(saved.notMeasured.map(({ layer, reason }) => [layer, reason])),
      ...(saved.step === undefined ? {} : { wholeStep: saved.step }),
      ...(saved.gradientSums === undefined ? {} : { gradientSums: saved.gradientSums }),
    },
    saved.computation.conditions,
  );
  const layers = new Map<string, MeasuredLayer>();
  for (const { position, name: _, type: __, ...times } of saved.layers) {
    const name = names[position];
    if (name !== undefined) layers.set(name, times);
  }
  return {
    origin: originOf(saved.device, new Date(saved.measuredAt)),
    layers,
    notes: [...sums, ...(saved.machineState === undefined ? [] : stateNotes(saved.machineState))],
    ...(saved.step === undefined ? {} : { step: saved.step.whole }),
  };
}
