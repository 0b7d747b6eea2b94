/** What commands and quick fixes change of a scenario, by the names of the settings. */
export interface ScenarioChange {
  readonly cluster?: string | null;
  readonly nodes?: number | null;
  readonly gpus?: number | null;
  readonly batch?: number | null;
  /** Samples of a step over all GPUs, in the place of `batch`. */
  readonly globalBatch?: number | null;
  readonly accumulate?: number | null;
  /** By the names of the setting: `tp`, `pp`, `micro-batch`. */
  readonly parallel?: Readonly<Record<string, number | string>> | null;
  readonly dimensions?: Readonly<Record<string, number>>;
  readonly precision?: string | null;
  /** With its options: `pytorch-ddp,bucket-mb=50`. */
  readonly framework?: string | null;
  readonly checkpoint?: string | null;
  /** By the names of the setting: `rank`, `layers`. */
  readonly lora?: Readonly<Record<string, number | string>> | null;
  /** `null` takes a key away. */
  readonly freeze?: readonly string[] | null;
}
