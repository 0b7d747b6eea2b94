/** The update of one step: parts that wait for one message each, and what is left when all have arrived. */

import { floatAt } from '../model/at.ts';
import type { AlikeKernels, GpuStream } from './gpuStream.ts';
import type { StepMessages } from './stepMessages.ts';
import type { Order } from './stepOrder.ts';
import type { StepWork } from './stepWork.ts';

export interface StepUpdate {
  /** Whether a part of the update waits for this message alone. */
  readonly isApart: (message: number) => boolean;
  /** Runs that part between forward or backward kernels, when the message has arrived. */
  readonly runApart: (message: number) => void;
  /** Runs the rest after backward: parts in the order in which their messages arrive, then what is left. */
  readonly finish: (awaited: Int32Array) => void;
  readonly times: () => UpdateTimes;
}

export interface UpdateTimes {
  /** By how much the update moves the end of the step. */
  readonly updateTime: number;
  readonly updates: readonly { readonly time: number; readonly end: number }[];
  /** How long the GPU waits in the update for the host; such waits are part of neither forward nor backward. */
  readonly updateHostTime: number;
}

export function createStepUpdate(
  { update, messages, hostWaits = false }: StepWork,
  { sharedUpdate, sharedLaunches }: Order,
  gpu: GpuStream,
  { arrival, waitFor }: StepMessages,
): StepUpdate {
  const updates: { time: number; end: number }[] = [];
  let updateTime = 0;
  let updateHostTime = 0;
  const kernelsOf = (share: number, launchShare: number): AlikeKernels => ({
    device: update.device * share,
    host: update.host * launchShare,
    launches: Math.max(1, (update.launches ?? 1) * launchShare),
  });
  const isApart = (message: number): boolean => floatAt(messages.updateShare, message) > 0;
  const run = (kernels: AlikeKernels): void => {
    const time = gpu.runAlike(kernels);
    updateTime += time;
    if (time > 0) updates.push({ time, end: gpu.freeAt() });
  };
  /** `isHeld`: the host launches the part only when the message has arrived. */
  const runPart = (message: number, isHeld: boolean): void => {
    const part = kernelsOf(floatAt(messages.updateShare, message), floatAt(messages.launchShare, message));
    waitFor(message, firstLaunch(part), isHeld ? part : undefined);
    run(part);
  };
  const runShared = (awaited: Int32Array): void => {
    const shared = kernelsOf(sharedUpdate, sharedLaunches);
    const held = hostWaits && sharedUpdate > 0 ? shared : undefined;
    for (const message of awaited) if (!isApart(message)) waitFor(message, firstLaunch(shared), held);
    if (update.hostWaits === true) gpu.holdHost(gpu.freeAt());
    run(shared);
  };
  const countHost = (work: () => void): void => {
    const before = gpu.hostTime();
    work();
    updateHostTime += gpu.hostTime() - before;
  };
  return {
    isApart,
    runApart: (message) => countHost(() => runPart(message, false)),
    finish: (awaited) =>
      countHost(() => {
        const apart = awaited.filter(isApart).sort((a, b) => arrival(a) - arrival(b));
        for (const message of apart) runPart(message, hostWaits);
        runShared(awaited);
      }),
    times: () => ({ updateTime, updates, updateHostTime }),
  };
}

/** The host's time until the first of the kernels is launched. */
const firstLaunch = ({ host, launches }: AlikeKernels): number => host / launches;
