/** The report's layers as comma-separated values (RFC 4180), in base units, for spreadsheets and scripts. */

import { type CsvColumn, csvOf } from './csv.ts';
import type { LayerReport, Report } from './report.ts';

const columns: readonly CsvColumn<LayerReport>[] = [
  ['layer', (layer) => layer.name],
  ['type', (layer) => layer.type],
  ['output_shape', (layer) => layer.output.shape?.map((dimension) => dimension ?? '?').join('x') ?? null],
  ['output_dtype', (layer) => layer.output.dtype],
  ['parameters', (layer) => layer.parameters],
  ['flops_forward', (layer) => layer.flops.forward],
  ['flops_backward_data', (layer) => layer.flops.backwardData],
  ['flops_backward_weight', (layer) => layer.flops.backwardWeight],
  ['operations_forward', (layer) => layer.operations.forward],
  ['operations_backward', (layer) => layer.operations.backward],
  ['bytes_forward', (layer) => layer.bytes.forward],
  ['bytes_backward', (layer) => layer.bytes.backward],
  ['time_forward_s', (layer) => layer.time.forward],
  ['time_backward_s', (layer) => layer.time.backward],
  ['time_low_s', (layer) => layer.range?.[0] ?? null],
  ['time_high_s', (layer) => layer.range?.[1] ?? null],
  ['communication_s', (layer) => layer.time.communication],
  ['exposed_communication_s', (layer) => layer.time.exposedCommunication],
  ['communication_slack_s', (layer) => layer.time.communicationSlack],
  ['memory_parameters_bytes', (layer) => layer.memory.parameters],
  ['memory_activations_bytes', (layer) => layer.memory.activations],
  ['memory_gradient_bytes', (layer) => layer.memory.gradient],
  ['bound', (layer) => layer.bound],
  ['source', (layer) => layer.source],
  ['exact', (layer) => String(layer.exact)],
];

/** One header line, one line per layer. Unknown cells are empty; where `exact` is false the numbers are lower bounds. */
export function renderCsv(report: Report): string {
  return csvOf(columns, report.layers);
}
