/** All operators of ATen that have a counterpart, by name and overload. */

import type { LowerAten } from './atenCall.ts';
import { activationOperators } from './families/activations.ts';
import { attentionOperators } from './families/attention.ts';
import { cellOperators } from './families/cells.ts';
import { choiceOperators } from './families/choices.ts';
import { complexOperators } from './families/complexNumbers.ts';
import { convolutionOperators } from './families/convolutions.ts';
import { creationOperators } from './families/creation.ts';
import { elementOperators } from './families/elements.ts';
import { layoutOperators } from './families/layout.ts';
import { linearAlgebraOperators } from './families/linearAlgebra.ts';
import { lossOperators } from './families/losses.ts';
import { marginLossOperators } from './families/marginLosses.ts';
import { normalizationOperators } from './families/normalizations.ts';
import { partOperators } from './families/parts.ts';
import { productOperators } from './families/products.ts';
import { recurrentOperators } from './families/recurrent.ts';
import { reductionOperators } from './families/reductions.ts';
import { windowOperators } from './families/windows.ts';

const families = [
  ...[activationOperators, attentionOperators, choiceOperators, convolutionOperators, creationOperators],
  ...[elementOperators, layoutOperators, lossOperators, normalizationOperators, partOperators],
  ...[
    cellOperators,
    complexOperators,
    linearAlgebraOperators,
    marginLossOperators,
    productOperators,
    recurrentOperators,
    reductionOperators,
    windowOperators,
  ],
];

export const atenOperators: ReadonlyMap<string, LowerAten> = new Map(
  families.flatMap((family) => Object.entries(family)),
);
