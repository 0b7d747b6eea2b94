/** What commands and quick fixes change of a scenario, by the names of the settings. */
export interface ScenarioChange {
  readonly cluster?: string | null;
  readonly nodes?: number | null;
  readonly gpus?: number | null;
  readonly batch?: number | null;
  readonly dimensions?: Readonly<Record<string, number>>;
  readonly precision?: string | null;
  /** With its options: `pytorch-ddp,bucket-mb=50`. */
  readonly framework?: string | null;
  readonly checkpoint?: string | null;
  /** `null` takes a key away. */
  readonly freeze?: readonly string[] | null;
}
