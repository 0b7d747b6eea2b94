/** The device that a person asks a benchmark to run on. */

export const deviceKinds = ['cuda', 'mps', 'xpu', 'cpu'] as const;
/** As torch names them; `cuda` is also AMD's by ROCm. */
export type DeviceKind = (typeof deviceKinds)[number];

/** `auto` takes the GPU where there is one, otherwise the CPU, and says so. `cuda:1` is the second GPU. */
export type DeviceChoice = 'auto' | DeviceKind | `cuda:${number}`;

export const isDeviceChoice = (text: string): text is DeviceChoice =>
  text === 'auto' || deviceKinds.some((kind) => kind === text) || /^cuda:\d{1,3}$/.test(text);

/** Of a device that a person named. */
export const kindOfChoice = (choice: Exclude<DeviceChoice, 'auto'>): DeviceKind =>
  choice === 'mps' || choice === 'xpu' || choice === 'cpu' ? choice : 'cuda';
