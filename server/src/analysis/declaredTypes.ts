/** What the file declares about a value beside what inference says. */

import { type Dimension, isUnknown, printDimension } from '../model/dimension.ts';
import type { ElementType } from '../model/elementType.ts';
import { isKnownShape, type Shape, type ValueType } from '../model/graph.ts';
import type { IssueCollector } from './issueCollector.ts';

/**
 * The inferred type, completed by the declared one where inference does not know. A contradiction is an error, as it is
 * to ONNX's checker; inference wins, because it starts from what the operators compute.
 */
export function reconcileTypes(
  name: string,
  inferred: ValueType,
  declared: ValueType | undefined,
  issues: IssueCollector,
  operator: number,
): ValueType {
  if (declared === undefined) return inferred;
  if (inferred.kind === 'unknown') return declared.kind === 'unknown' ? inferred : declared;
  if (inferred.kind !== 'tensor' || declared.kind !== 'tensor') return inferred;
  if (contradicts(inferred.shape, declared.shape)) {
    issues.add(`declared ${name}`, () => ({
      code: 'shape/mismatch',
      severity: 'error',
      message: `\`${name}\` is declared as ${printShape(declared.shape)} but computed as ${printShape(inferred.shape)}; the computed shape is used, correct the declaration`,
      operator,
      value: name,
    }));
    return inferred;
  }
  if (typesDiffer(inferred.elementType, declared.elementType)) {
    issues.add(`declared ${name}`, () => ({
      code: 'shape/mismatch',
      severity: 'error',
      message: `\`${name}\` is declared as ${declared.elementType} but computed as ${inferred.elementType}; the computed type is used, correct the declaration`,
      operator,
      value: name,
    }));
  }
  const elementType = inferred.elementType === 'undefined' ? declared.elementType : inferred.elementType;
  const shape = completeShape(inferred.shape, declared.shape);
  if (elementType === inferred.elementType && shape === inferred.shape) return inferred;
  return { kind: 'tensor', elementType, shape };
}

const typesDiffer = (inferred: ElementType, declared: ElementType): boolean =>
  inferred !== declared && inferred !== 'undefined' && declared !== 'undefined';

function completeShape(inferred: Shape, declared: Shape): Shape {
  if (!isKnownShape(inferred)) return isKnownShape(declared) ? declared : inferred;
  if (!isKnownShape(declared) || !inferred.some(isUnknown)) return inferred;
  return inferred.map((dimension, axis) => {
    const other: Dimension | undefined = declared[axis];
    return isUnknown(dimension) && other !== undefined && !isUnknown(other) ? other : dimension;
  });
}

/** Whether two shapes cannot be of one tensor. Symbols contradict nothing: exporters name them at will. */
function contradicts(inferred: Shape, declared: Shape): boolean {
  if (!isKnownShape(inferred) || !isKnownShape(declared)) return false;
  if (inferred.length !== declared.length) return true;
  return inferred.some((dimension, axis) => {
    const other = declared[axis];
    return typeof dimension === 'number' && typeof other === 'number' && dimension !== other;
  });
}

const printShape = (shape: Shape): string =>
  isKnownShape(shape) ? `[${shape.map(printDimension).join(', ')}]` : 'of unknown rank';
