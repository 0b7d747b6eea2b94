import type { DeclaredDimension, DeclaredType } from './declaredType.ts';
import type { Dimension } from './dimension.ts';
import type { ValueType } from './graph.ts';

/** The type that a declaration means, given what its dimensions mean. */
export function valueTypeOf(
  declared: DeclaredType | undefined,
  dimensionOf: (declared: DeclaredDimension, axis: number) => Dimension,
): ValueType {
  switch (declared?.kind) {
    case undefined:
      return { kind: 'unknown', reason: 'the file gives no type' };
    case 'tensor':
    case 'sparse-tensor':
      return {
        kind: 'tensor',
        elementType: declared.elementType,
        shape: declared.shape?.map(dimensionOf) ?? {
          kind: 'unknown-shape',
          reason: 'the file gives no shape',
        },
      };
    case 'sequence':
    case 'optional':
      return { kind: declared.kind, element: valueTypeOf(declared.element, dimensionOf) };
    case 'map':
      return { kind: 'map', key: declared.key, value: valueTypeOf(declared.value, dimensionOf) };
    case 'opaque':
      return { kind: 'unknown', reason: `opaque type \`${declared.name}\`` };
  }
}
