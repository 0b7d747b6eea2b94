/**
 * MG-WFBP over eager PyTorch and Horovod: neighbouring gradients merged where a start-up costs more than the wait.
 *
 * As the authors' code does it, the cost a + b·bytes of an all-reduce is fitted to messages of 8 Ki to 504 Ki floats,
 * and backward is profiled before the merges are chosen, once (HKBU-HPML/MG-WFBP, distributed_optimizer.py). Its `step`
 * waits on the host for all gradients, as Horovod's does.
 */

import { fitLinearCost, type LinearCost } from '../communication/formulas/linkCost.ts';
import { floatAt, itemAt } from '../model/at.ts';
import { largestOf } from '../model/extremes.ts';
import { type Bytes, bytes, seconds, sum } from '../model/units.ts';
import { noExchange, type ProfiledStep } from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import type { Gradient } from './gradient.ts';
import { mergeGradients, mergeWithinWait } from './mergeGradients.ts';
import { fittedOrNumber, fromZero, oneOf } from './options.ts';
import { allReduceEach, type Bucket } from './packBuckets.ts';
import { eagerOptions, eagerPytorch } from './pytorchDdp.ts';
import { wireBytes, wireOption } from './wireType.ts';

export const mgWfbp: FrameworkEntry = {
  name: 'mg-wfbp',
  documentation:
    'MG-WFBP: gradients merged if a start-up costs more than the wait, all-reduced during backward',
  trainsIn: 'half',
  overlaps: 'input: read, decoded and copied ahead; gradients: merged, during backward; update: after all',
  sources: [
    'Shi, Chu, Li, "MG-WFBP", INFOCOM 2019, arXiv 1811.11141',
    'HKBU-HPML/MG-WFBP, distributed_optimizer.py; hclhkbu/B-Caffe for the earlier rule',
  ],
  options: [
    {
      name: 'rule',
      default: 'mg-wfbp',
      documentation: 'mg-wfbp, or b-caffe: wait for the next gradient if that takes less than 2·P·20 µs·P',
      expects: oneOf('mg-wfbp', 'b-caffe'),
    },
    {
      name: 'startup-us',
      default: 'fitted',
      documentation: 'message start-up cost used for merging, in microseconds, or fitted to the cluster',
      expects: fittedOrNumber,
    },
    {
      name: 'ns-per-byte',
      default: 'fitted',
      documentation: 'message time per byte used for merging, in nanoseconds, or fitted to the cluster',
      expects: fittedOrNumber,
    },
    {
      name: 'fewest-elements',
      default: '0',
      documentation: 'mg-wfbp: a message with fewer elements always merges the next gradient',
      expects: fromZero,
    },
    {
      name: 'kept-fp32',
      default: 'none',
      documentation:
        'none, or batch-norm: gradients of batch normalization stay fp32 (apex O2); a message has the dtype of its first gradient',
      expects: oneOf('none', 'batch-norm'),
    },
    wireOption,
    ...eagerOptions,
  ],
  create: (options) => ({
    ...eagerPytorch(options),
    name: 'mg-wfbp',
    exchange: (gradients, { gpus }, profiled) => {
      if (gpus === 1) return noExchange;
      const ends = profiled.backwardEnds();
      const wire = wireBytes(options);
      const ready = gradients.map((gradient) => ({
        ready: seconds(floatAt(ends, gradient.readyAfter)),
        bytes: wire === undefined ? gradient.bytes : bytes(gradient.elements * wire),
        elements: gradient.elements,
      }));
      const cost = costOf(options, profiled);
      const groups =
        options.get('rule') === 'b-caffe'
          ? mergeWithinWait(ready, gpus)
          : mergeGradients(ready, cost, Number(options.get('fewest-elements')));
      const buckets = groups.map(({ first, end, bytes: size }): Bucket => {
        const group = gradients.slice(first, end);
        return {
          gradients: group,
          bytes: sentAs(group, size, options),
          readyAfter: itemAt(gradients, end - 1).readyAfter,
        };
      });
      return {
        ...noExchange,
        hostWaits: true,
        messages: allReduceEach(buckets),
        buffers: bytes(Math.max(0, largestOf(buckets.map((bucket) => bucket.bytes)))),
      };
    },
    notes: [`gradients merged by the rule of ${options.get('rule')}`],
  }),
};

/**
 * A merged buffer has the type of the gradient that is ready first, and the others are converted to it: where apex (O2) keeps
 * batch normalizations in fp32, a message that begins with one is twice as large.
 * Source: HKBU-HPML/MG-WFBP, distributed_optimizer.py, _generate_merged_parameters and _push_to_buffer.
 */
function sentAs(group: readonly Gradient[], merged: Bytes, options: ReadonlyMap<string, string>): Bytes {
  const isKept = options.get('kept-fp32') === 'batch-norm' && group[0]?.ofBatchNorm === true;
  return isKept ? sum(group.map(({ elements }) => bytes(4 * elements))) : merged;
}

/** What is given stands in the place of what is fitted: the authors' own runs merge by constants in their code. */
function costOf(options: ReadonlyMap<string, string>, profiled: ProfiledStep): LinearCost {
  const given = (name: string, unit: number): number | undefined => {
    const value = Number(options.get(name));
    return Number.isFinite(value) ? value * unit : undefined;
  };
  const [startup, perByte] = [given('startup-us', 1e-6), given('ns-per-byte', 1e-9)];
  if (startup !== undefined && perByte !== undefined) {
    return { startup: seconds(startup), secondsPerByte: perByte };
  }
  const fitted = fittedCost(profiled);
  return {
    startup: seconds(startup ?? fitted.startup),
    secondsPerByte: perByte ?? fitted.secondsPerByte,
  };
}

/** A fit may give a start-up below 0, which would merge nothing. */
function fittedCost({ timeOf }: ProfiledStep): LinearCost {
  const points = profiledSizes.map((size) => ({
    size,
    time: timeOf({ kind: 'collective', collective: 'all-reduce', bytes: size, over: 'all' }),
  }));
  const { startup, secondsPerByte } = fitLinearCost(points) ?? { startup: 0, secondsPerByte: 0 };
  return { startup: seconds(Math.max(0, startup)), secondsPerByte };
}

/** 8 Ki to 504 Ki floats. */
const profiledSizes: readonly Bytes[] = Array.from({ length: 63 }, (_, index) =>
  bytes(4 * 8 * 1024 * (index + 1)),
);
