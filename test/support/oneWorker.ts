/** The layout in which no GPU shares a copy of a model, as a report has it. */

import type { Report } from '../../server/src/estimate/report/report.ts';

export const oneWorker: NonNullable<Report['scenario']['parallel']> = {
  tensor: 1,
  sequence: false,
  gathered: 'keep',
  context: 1,
  contextExchange: 'ring',
  expert: 1,
  expertImbalance: 1,
  pipeline: 1,
  chunks: 1,
  schedule: '1f1b',
  stages: 'balanced',
};
