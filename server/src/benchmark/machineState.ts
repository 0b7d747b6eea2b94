/** The state of the machine around a measurement, and the sentences that a person needs to judge the times by it. */

import { z } from 'zod';

/** What a GPU does not tell is null. */
const number = z.number().nonnegative().nullable();
const text = z.string().nullable();

/** The clock of its processors, power of the board, temperature, and the share of time that a kernel ran. */
const gpuStateSchema = z.object({
  megahertz: number,
  mostMegahertz: number,
  watts: number,
  mostWatts: number,
  celsius: number,
  busy: z.number().min(0).max(1).nullable(),
});

export const machineStateSchema = z.object({
  versions: z.object({ driver: text, cudnn: text, nccl: text }),
  /** Of NVIDIA's GPUs, as nvidia-smi tells. `during` is the median while the GPU worked. */
  gpu: z
    .object({
      before: gpuStateSchema,
      during: gpuStateSchema.nullable(),
      after: gpuStateSchema.nullable(),
      /** What held the clock down while the GPU worked: "the power limit", "heat". */
      heldBackBy: z.array(z.string()),
    })
    .nullable(),
  /** Processors that others kept busy, on average, before the measurement and during it. */
  coresOfOthers: z.object({ before: number, during: number }),
});

export type MachineState = Readonly<z.infer<typeof machineStateSchema>>;

/** Of a GPU's time: less is a desktop that draws. */
const busyGpu = 0.05;
/** Less is what every system does beside. */
const busyCores = 0.25;

/** Sentences about what makes the times longer than they would be. Empty where nothing does. */
export function stateNotes({ gpu, coresOfOthers }: MachineState): readonly string[] {
  const before = gpu?.before.busy ?? null;
  const others = coresOfOthers.during ?? coresOfOthers.before;
  return [
    ...(before !== null && before > busyGpu
      ? [
          `The GPU was busy ${percent(before)} of the time before the benchmark: stop what runs on it, and measure again`,
        ]
      : []),
    ...(gpu === null || gpu.heldBackBy.length === 0
      ? []
      : [`${listed(gpu.heldBackBy)} held the clock of the GPU down${clockText(gpu.during)}`]),
    ...(others !== null && others > busyCores
      ? [`Other processes kept ${others.toFixed(1)} cores busy: stop them, and measure again`]
      : []),
  ];
}

/** `clock 1755 of 1980 MHz, 645 of 700 W, 36 to 71 °C, driver 550.54.15, cuDNN 9.1.0`; '' where nothing is known. */
export function stateText({ gpu, versions }: MachineState): string {
  const during = gpu?.during ?? null;
  const reached = during?.celsius ?? gpu?.after?.celsius ?? null;
  const began = gpu?.before.celsius ?? null;
  return [
    ...(during === null ? [] : [shareText('clock ', during.megahertz, during.mostMegahertz, 'MHz')]),
    ...(during === null ? [] : [shareText('', during.watts, during.mostWatts, 'W')]),
    reached === null ? '' : `${began === null ? '' : `${began} to `}${reached} °C`,
    versions.driver === null ? '' : `driver ${versions.driver}`,
    versions.cudnn === null ? '' : `cuDNN ${versions.cudnn}`,
    versions.nccl === null ? '' : `NCCL ${versions.nccl}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}

function shareText(before: string, value: number | null, most: number | null, unit: string): string {
  if (value === null) return '';
  return `${before}${Math.round(value)}${most === null ? '' : ` of ${Math.round(most)}`} ${unit}`;
}

function clockText(during: NonNullable<MachineState['gpu']>['during']): string {
  if (during === null || during.megahertz === null) return '';
  return `: ${shareText('', during.megahertz, during.mostMegahertz, 'MHz')}`;
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

const listed = (names: readonly string[]): string => {
  const text = names.join(' and ');
  return text.charAt(0).toUpperCase() + text.slice(1);
};
