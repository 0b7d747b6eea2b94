/** What the nodes under a message about an operator that is not known show of it. */

import type { OperatorSketch } from '../../formats/custom-operators/describeOperator.ts';
import { operatorKey } from '../../model/declaredOperator.ts';
import { isKnownShape, type Operator } from '../../model/graph.ts';
import type { Diagnostic } from '../diagnostics.ts';
import type { ModelView } from '../modelView.ts';

export interface SketchedDiagnostic {
  readonly diagnostic: Diagnostic;
  readonly sketch: OperatorSketch;
}

export function operatorSketches(
  view: ModelView,
  diagnostics: readonly Diagnostic[],
): readonly SketchedDiagnostic[] {
  const { issues, opened } = view.estimate;
  const graph = opened.analysis?.graph;
  if (graph === undefined) return [];
  return diagnostics.flatMap((diagnostic) => {
    if (diagnostic.code !== 'graph/unknown-operator') return [];
    const issue = issues.find(
      ({ code, message }) => code === diagnostic.code && message === diagnostic.message,
    );
    const operator = graph.operators.find(
      ({ source, domain }) => source === issue?.operator && domain !== '' && domain !== 'ai.onnx',
    );
    if (operator === undefined) return [];
    const axesOf = (name: string): number | undefined => {
      const type = graph.values.get(name)?.type;
      return type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape.length : undefined;
    };
    const sketch = {
      key: operatorKey(operator),
      inputs: operator.inputs.map(axesOf),
      outputs: operator.outputs.length,
      attributes: numbersOf(operator),
    };
    return [{ diagnostic, sketch }];
  });
}

const numbersOf = ({ attributes }: Operator): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...attributes].flatMap(([name, attribute]) =>
      attribute.kind === 'int' || attribute.kind === 'float' ? [[name, Number(attribute.value)]] : [],
    ),
  );
