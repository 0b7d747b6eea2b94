/**
 * Host time of eager PyTorch per kernel launch.
 *
 * Python, the dispatcher, autograd and the driver take tens of microseconds before a kernel reaches the GPU. Over 12 and 12 steps of
 * one GPU, a time per launch explains what the host took to ±10 % (median); casts, passes, views and parameters by themselves explain
 * no more. Middle: the mean of the logarithms of `measured/host-launches.csv`. Low and high: between which a further machine
 * lies in 80 of 100 cases, by Student's t of the logarithms. A host that never decided a step is in no table, so faster ones are missing.
 */

import { type Estimate, estimateOf } from '../../model/estimate.ts';
import { microseconds, type Seconds, seconds } from '../../model/units.ts';

export const eagerLaunch: Estimate<Seconds> = {
  middle: microseconds(37),
  low: microseconds(23),
  high: microseconds(60),
};

/**
 * How much of that a launch takes where neither autograd nor autocast stands around it: decode steps and prefills of three
 * networks in bf16 took 22 to 25 µs a launch (measured/steps-decode.csv) where steps of training took about 37, and gpt-fast's 24.5.
 */
export const launchWithoutAutograd = 0.65;

/**
 * The same without Python around each kernel, as in executors of graphs, and without a driver, as on a processor: an assumption, as
 * no table at hand has such steps.
 */
export const leanLaunch: Estimate<Seconds> = {
  middle: microseconds(8),
  low: microseconds(4),
  high: microseconds(29),
};

/**
 * What an optimizer does for each parameter beside its launches, such as lists of gradients and counts of steps, in launches. Source:
 * `update` of steps that waited for their host, at 51 µs a launch (measured/steps-eager.csv): AdamW of BERT-base 0.61, T5 0.67 and OPT-350M
 * 0.58, SGD of ResNet-18 0.43; fused AdamW of BERT-large 0.30. Tensor after tensor, the launches are all there is.
 */
export const launchesPerParameter = { foreach: 0.6, fused: 0.3, loop: 0 } as const;

/**
 * The same for a host whose middle is given. A number that a person gives is theirs, so it has no range; `usual` is what the
 * framework takes where nobody says.
 */
export function launchOf(middle: number, usual: Estimate<Seconds> = eagerLaunch): Estimate<Seconds> {
  if (!(middle > 0) || Math.abs(middle / usual.middle - 1) < 1e-9) return usual;
  return estimateOf(() => seconds(middle));
}

/** Whether it has a range: nobody gave one number. */
export const isAssumedLaunch = ({ low, high }: Estimate<Seconds>): boolean => low < high;
