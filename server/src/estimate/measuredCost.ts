/**
 * Measured times in the place of predicted ones: layers by name, and the whole step.
 *
 * Communication stays predicted, and is laid over the measured backward again: a message is ready when the
 * measured backward of its last layer ends. A measured step is one GPU's without communication; layers that were
 * not measured, and the update, are then scaled so that the parts fill it.
 */

import type { LayerMeasurement, LayerMeasurements } from '../model/measurement.ts';
import type { LayerCost, StepCost } from '../model/stepCost.ts';
import { type Seconds, seconds } from '../model/units.ts';
import { type StepTimeline, stepTimeline } from '../schedule/stepTimeline.ts';

export function applyMeasurements(cost: StepCost, measured: LayerMeasurements): StepCost {
  const { time } = cost.totals;
  const measuredLayers = cost.layers.map((layer) => measured.layers.get(layer.name));
  const predictedUpdate = time.update ?? 0;
  const parts = cost.layers.flatMap((layer, index) => passes(layer, measuredLayers[index]));
  const fixed = parts.reduce((sum, part) => sum + (part.measured ? part.time : 0), 0);
  const open = parts.reduce((sum, part) => sum + (part.measured ? 0 : part.time), predictedUpdate);
  const scale = measured.step === undefined || open === 0 ? 1 : Math.max(0, measured.step - fixed) / open;
  const layers = cost.layers.map((layer, index) =>
    replaceTimes(layer, measuredLayers[index], measured, scale),
  );
  const update = seconds(predictedUpdate * scale);
  const timeline = layerTimeline(cost, layers, update);
  const exposedBefore = cost.messages ?? [];
  const messages = exposedBefore.map((message, index) => ({
    ...message,
    exposed: timeline.messages[index]?.exposed ?? message.exposed,
  }));
  const step = timeline.step > 0 ? timeline.step : null;
  const samples = (cost.totals.throughput ?? 0) * (time.step ?? 0);
  // What was measured is not predicted by a curve.
  const { basis: _, ...totals } = cost.totals;
  const work = cost.totals.mfu === null || time.step === null ? null : cost.totals.mfu * time.step;
  return {
    ...cost,
    layers: withExposure(layers, messages),
    totals: {
      ...totals,
      time: {
        ...time,
        forward: timeline.forwardTime,
        backward: timeline.backwardTime,
        exposedCommunication: cost.totals.exact ? timeline.exposedTime : null,
        update: timeline.updateTime,
        step,
        range: stepRange(cost, layers, timeline),
      },
      throughput: step === null ? null : samples / step,
      scalingEfficiency: step === null || !cost.totals.exact ? null : (step - timeline.exposedTime) / step,
      mfu: step === null || work === null ? null : work / step,
    },
    ...(messages.length === 0 ? {} : { messages }),
  };
}

interface Part {
  readonly time: number;
  readonly measured: boolean;
}

function passes(layer: LayerCost, measurement: LayerMeasurement | undefined): readonly Part[] {
  return [
    { time: measurement?.forward ?? layer.time.forward ?? 0, measured: measurement?.forward !== undefined },
    {
      time: measurement?.backward ?? layer.time.backward ?? 0,
      measured: measurement?.backward !== undefined,
    },
  ];
}

function replaceTimes(
  layer: LayerCost,
  measurement: LayerMeasurement | undefined,
  { origin, step }: LayerMeasurements,
  scale: number,
): LayerCost {
  const scaled = (time: Seconds | null) => (time === null ? null : seconds(time * scale));
  const forward = measurement?.forward ?? scaled(layer.time.forward);
  const backward = measurement?.backward ?? scaled(layer.time.backward);
  const replaced = measurement?.forward !== undefined || measurement?.backward !== undefined;
  if (!replaced && step === undefined) return layer;
  const spread = (edge: 0 | 1): number => {
    const before = (layer.time.forward ?? 0) + (layer.time.backward ?? 0);
    return before === 0 || layer.range === null ? 1 : layer.range[edge] / before;
  };
  const openTime =
    (measurement?.forward === undefined ? (forward ?? 0) : 0) +
    (measurement?.backward === undefined ? (backward ?? 0) : 0);
  const whole = (forward ?? 0) + (backward ?? 0);
  return {
    ...layer,
    time: { ...layer.time, forward, backward },
    source: replaced ? 'measured' : layer.source,
    range:
      forward === null && backward === null
        ? null
        : [
            seconds(whole - openTime + openTime * (replaced ? spread(0) : 1)),
            seconds(whole - openTime + openTime * (replaced ? spread(1) : 1)),
          ],
    notes: [replaced ? `measured: ${origin}` : `scaled to ${origin}`, ...layer.notes],
  };
}

/** The step again, at the grain of layers; the host is part of measured times, so it launches for nothing. */
function layerTimeline(cost: StepCost, layers: readonly LayerCost[], update: Seconds): StepTimeline {
  const work = (times: readonly (Seconds | null)[]) => ({
    device: Float64Array.from(times, (time) => time ?? 0),
    host: new Float64Array(times.length),
  });
  const last = layers.length - 1;
  const trains = cost.scenario.mode === 'training';
  let ready = 0;
  return stepTimeline({
    forward: work(layers.map((layer) => layer.time.forward)),
    backward: work(trains ? layers.map((layer) => layer.time.backward).reverse() : []),
    messages: (cost.messages ?? []).map((message) => {
      ready = Math.max(ready, last - message.readyAfter);
      return {
        after: layers.length + ready,
        before: 2 * layers.length,
        stepsLater: 0,
        priority: 0,
        stages: [{ channel: 0, time: message.time }],
        updateShare: 0,
      };
    }),
    update: { device: update, host: seconds(0) },
    channels: ['first come'],
  });
}

function stepRange(
  cost: StepCost,
  layers: readonly LayerCost[],
  timeline: StepTimeline,
): readonly [Seconds, Seconds] {
  const spread = (edge: 0 | 1): number =>
    layers.reduce(
      (sum, layer) =>
        sum + ((layer.range?.[edge] ?? 0) - (layer.time.forward ?? 0) - (layer.time.backward ?? 0)),
      0,
    );
  const communication = cost.messages === undefined ? 0 : timeline.exposedTime * 0.2;
  return [
    seconds(Math.max(0, timeline.step + Math.min(0, spread(0)) - communication)),
    seconds(timeline.step + Math.max(0, spread(1)) + 2 * communication),
  ];
}

function withExposure(
  layers: readonly LayerCost[],
  messages: NonNullable<StepCost['messages']>,
): readonly LayerCost[] {
  if (messages.length === 0) return layers;
  const exposed = layers.map(() => 0);
  for (const message of messages) {
    const whole = message.layers.reduce((sum, share) => sum + share.bytes, 0);
    for (const share of message.layers) {
      exposed[share.index] =
        (exposed[share.index] ?? 0) + (whole === 0 ? 0 : message.exposed * (share.bytes / whole));
    }
  }
  return layers.map((layer, index) => ({
    ...layer,
    time: {
      ...layer.time,
      exposedCommunication: layer.time.exposedCommunication === null ? null : seconds(exposed[index] ?? 0),
    },
  }));
}
