/** What a profile's devices are called: most are GPUs, and a node without one computes with its processors. */

import { formatCount } from './format.ts';

export const deviceNouns = ['GPU', 'CPU node'] as const;
export type DeviceNoun = (typeof deviceNouns)[number];

export const deviceNoun = ({ architecture }: { readonly architecture: string }): DeviceNoun =>
  architecture === 'cpu' ? 'CPU node' : 'GPU';

/** `GPU` or `GPUs`, `CPU node` or `CPU nodes`. */
export const deviceNounFor = (count: number, device: DeviceNoun): string =>
  count === 1 ? device : `${device}s`;

/** Of several, such as the curves of one drawing: their own name where they share it. */
export const commonNoun = (devices: readonly DeviceNoun[]): DeviceNoun =>
  devices[0] !== undefined && devices.every((each) => each === devices[0]) ? devices[0] : 'GPU';

/** `8 × H100 SXM`, `4 × (2 × Xeon E5-2630 v4)`. */
export const timesTitle = (count: number, title: string): string =>
  `${formatCount(count)} × ${title.includes(' × ') ? `(${title})` : title}`;
