/** Every operator applied to numbers: as it was executed, and to the usual kinds of inputs that its definition accepts. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { applicationOf, type RecordedCase } from '../../scripts/dimensions/recordedCase.ts';
import { probes } from '../../scripts/operatorsPage.ts';
import { isKnownShape } from '../../server/src/model/graph.ts';
import { attributesOf } from '../../server/src/operators/context.ts';
import type { OperatorDefinition } from '../../server/src/operators/definition.ts';
import type { Factor } from '../../server/src/operators/dimensionMap.ts';
import { type DimensionCase, inferenceOf } from './dimensionCases.ts';

export interface Proof extends RecordedCase {
  readonly factors: readonly Factor[];
  /** One for each factor. */
  readonly results: readonly ('equal' | 'single' | 'coupled')[];
}

export const proofs: readonly Proof[] = readFileSync(join(import.meta.dirname, 'dimensions.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line): Proof => JSON.parse(line));

/** What was executed, and what the definition accepts of the usual kinds of inputs. */
export const casesOf = (definition: OperatorDefinition): readonly DimensionCase[] => [
  ...executedCases(definition),
  ...usualCases(definition),
];

export const executedCases = (definition: OperatorDefinition): readonly DimensionCase[] =>
  proofs.flatMap((proof) => {
    const application = applicationOf(proof);
    return application?.definition === definition && inferenceOf(application).problem === undefined
      ? [application]
      : [];
  });

export const usualCases = (definition: OperatorDefinition): readonly DimensionCase[] =>
  probes.flatMap((probe) =>
    [1, 4].flatMap((outputCount): readonly DimensionCase[] => {
      const given: DimensionCase = {
        definition,
        opset: definition.since,
        inputs: probe.inputs,
        contents: probe.inputs.map((type, index) => {
          const elements = probe.contents?.[index];
          const shape = type.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : [];
          return elements && { shape: shape.filter((size) => typeof size === 'number'), elements };
        }),
        attributes: attributesOf(probe.attributes ?? {}),
        outputCount,
      };
      return inferenceOf(given).problem === undefined ? [given] : [];
    }),
  );
