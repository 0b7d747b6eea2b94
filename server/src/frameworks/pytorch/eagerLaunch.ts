/**
 * Host time of eager PyTorch per kernel launch.
 *
 * Python, the dispatcher, autograd and the driver take several microseconds before a kernel reaches the GPU.
 * High: 32 torchvision networks at batch 12 (ryujaehun/pytorch-gpu-benchmark, TITAN V): DenseNet-201 inference
 * in half precision takes 20.7 ms for 707 kernels, the same for every width of a network. Low and middle are
 * assumptions for hosts and releases of today.
 */

import { type Estimate, estimateOf } from '../../model/estimate.ts';
import { microseconds, type Seconds, seconds } from '../../model/units.ts';

export const eagerLaunch: Estimate<Seconds> = {
  middle: microseconds(8),
  low: microseconds(4),
  high: microseconds(29),
};

/**
 * The same for a host whose middle is given. A number that a person gives is theirs, so it has no range; `usual` is what the
 * framework takes where nobody says.
 */
export function launchOf(middle: number, usual: Estimate<Seconds> = eagerLaunch): Estimate<Seconds> {
  if (!(middle > 0) || Math.abs(middle / usual.middle - 1) < 1e-9) return usual;
  return estimateOf(() => seconds(middle));
}

/** Whether nobody said how fast the host launches. */
export const isAssumedLaunch = ({ low, high }: Estimate<Seconds>): boolean => low < high;
