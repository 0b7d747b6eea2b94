/** Files that are called `.prototxt` like nets and are something else. */

import type { Issue } from '../../model/issue.ts';
import type { TextField } from '../protobuf-text/syntax.ts';

/** What a text without any layer or input is, as an issue; `undefined` for a net. */
export function whatElseItIs(text: string, fields: readonly TextField[]): Issue | undefined {
  const names = new Set(fields.map((field) => field.name));
  if (['layer', 'layers', 'input'].some((name) => names.has(name))) return undefined;
  const solver = fields.find((field) => solverFields.has(field.name));
  if (solver !== undefined) {
    const net = fields.find((field) => netFields.has(field.name));
    const path = net?.value.kind === 'quoted' ? net.value.pieces[0] : undefined;
    const where =
      path === undefined ? 'the net it trains' : `\`${text.slice(path.start, path.end).split('\n')[0]}\``;
    return notANet(`This is a Caffe solver, not a net: open ${where}`, net ?? solver);
  }
  const [first] = fields;
  if (names.has('item')) return notANet('This is a label map, not a net: open the net', first);
  return notANet('The text has no `layer`: a Caffe net is a list of `layer { … }`', first);
}

const notANet = (message: string, field: TextField | undefined): Issue => ({
  code: 'caffe/not-a-net',
  severity: 'error',
  message,
  span: field?.nameSpan ?? { start: 0, end: 0 },
});

const netFields: ReadonlySet<string> = new Set([
  'net',
  'train_net',
  'test_net',
  'net_param',
  'train_net_param',
]);

/** Fields of SolverParameter that a net has not (src/caffe/proto/caffe.proto). */
const solverFields: ReadonlySet<string> = new Set([
  ...netFields,
  'base_lr',
  'lr_policy',
  'max_iter',
  'test_iter',
  'test_interval',
  'solver_mode',
  'solver_type',
  'snapshot',
  'snapshot_prefix',
  'momentum',
  'weight_decay',
  'stepsize',
  'iter_size',
]);
