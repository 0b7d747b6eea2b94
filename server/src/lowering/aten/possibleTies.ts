/** `pt2/ties`: a table and a head of one shape, which most language models share, and an archive stores by two names. */

import type { ExportedProgram, TensorMeta } from '../../formats/pt2/syntax.ts';
import { formatShortCount } from '../../model/format.ts';
import type { Issue } from '../../model/issue.ts';

export function possibleTies({ graph, inputs }: ExportedProgram): readonly Issue[] {
  const parameters = new Map(
    inputs.flatMap(({ kind, name, target }) => (kind === 'parameter' ? [[name, target] as const] : [])),
  );
  const weightsOf = (operator: string): readonly string[] => [
    ...new Set(
      graph.nodes.flatMap(({ target, arguments: given }) => {
        const weight = given.get('weight');
        return target === `torch.ops.aten.${operator}` && weight?.kind === 'tensor' ? [weight.name] : [];
      }),
    ),
  ];
  const heads = weightsOf('linear.default');
  return weightsOf('embedding.default').flatMap((table) => {
    const shape = shapeOf(graph.tensors.get(table));
    const head = heads.find((name) => name !== table && shapeOf(graph.tensors.get(name)) === shape);
    const [own, other] = [parameters.get(table), parameters.get(head ?? '')];
    if (shape === undefined || own === undefined || other === undefined) return [];
    const [rows = 0, width = 0] = shape.split('×').map(Number);
    return [
      {
        code: 'pt2/ties',
        severity: 'warning',
        message: `${formatShortCount(rows * width)} parameters are counted twice if the model ties its table and its head. \`${own}\` and \`${other}\` have one shape, ${shape}. Export the model as ONNX, which keeps one`,
      } satisfies Issue,
    ];
  });
}

/** Of a matrix without open sizes. */
function shapeOf(meta: TensorMeta | undefined): string | undefined {
  const isMatrix = meta?.shape.length === 2 && meta.shape.every((size) => typeof size === 'number');
  return isMatrix ? meta.shape.join('×') : undefined;
}
