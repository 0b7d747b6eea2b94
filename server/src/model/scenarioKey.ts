/** The parts of a scenario that a person can ask for; `ScenarioRequest` says what each holds. */
export type ScenarioKey =
  | 'cluster'
  | 'nodes'
  | 'gpus'
  | 'batch'
  | 'globalBatch'
  | 'accumulate'
  | 'dimensions'
  | 'precision'
  | 'optimizer'
  | 'framework'
  | 'mode'
  | 'checkpoint'
  | 'measuredStep'
  | 'thresholds'
  | 'input'
  | 'workers'
  | 'run';
