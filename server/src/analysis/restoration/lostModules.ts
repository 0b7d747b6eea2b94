/**
 * Tells modules of the exported program of which the file has no operator.
 *
 * The exporter records the parameters of the program and the module of each operator. Its optimizer merges operators that
 * compute the same from equal tensors, as fresh normalizations of one input do (onnxscript 0.5, `CommonSubexpressionEliminationPass`), and
 * computes beforehand what depends on parameters alone. A training step runs both.
 */

import { parametersOfProgram } from '../../formats/onnx/graphSignature.ts';
import type { OnnxModel } from '../../formats/onnx/syntax.ts';
import { formatCount } from '../../model/format.ts';
import type { Issue } from '../../model/issue.ts';
import { scopeListOf } from '../moduleScope.ts';

export function lostModules({ graph, functions }: OnnxModel): Issue | undefined {
  const parameters = parametersOfProgram(graph);
  if (parameters === undefined || functions.length > 0) return undefined;
  const present = new Set<string>();
  /** Modules with operators of their own, which may read parameters of modules below, as attention does those of `out_proj`. */
  const reading = new Set<string>();
  for (const { names } of graph.nodes.flatMap((node) => scopeListOf(node) ?? [])) {
    for (const name of names) present.add(name);
    reading.add(names.at(-2) ?? '');
  }
  if (present.size === 0) return undefined;
  const stored = new Set(graph.initializers.map(({ name }) => moduleOf(name)));
  const isLost = (module: string): boolean =>
    module !== '' && !present.has(module) && !stored.has(module) && !reading.has(moduleOf(module));
  const lost = new Set([...parameters].map(moduleOf).filter(isLost));
  const [first] = lost;
  if (first === undefined) return undefined;
  return {
    code: 'graph/lost-modules',
    severity: 'warning',
    message: `Parameters of ${formatCount(lost.size)} module${lost.size === 1 ? '' : 's'} are read by no operator of the file, first those of \`${first}\`. The exporter merged equal ones or computed them beforehand, or the program does not call them. The step leaves them out; export with \`optimize=False\` to have them`,
  };
}

/** `layer.norm` of `layer.norm.weight`; '' of what has no module. */
const moduleOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf('.')));
