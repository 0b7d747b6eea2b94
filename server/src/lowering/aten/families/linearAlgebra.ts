/**
 * Functions of square matrices. Those that factor a matrix (`cholesky`, `qr`, `svd`, `eigh`, `solve`) have no counterpart: their cost is
 * unknown, by their name.
 */

import type { Tensor } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, each, type LowerAten } from '../atenCall.ts';

const matrices = (call: AtenCall): Tensor | undefined => call.tensor('A', 'self', 'input');

const determinant: LowerAten = (call) => {
  const given = matrices(call);
  return given && call.emit('Det', [given]);
};

/** Sign and logarithm of the determinant, from one factorization. */
const signAndLogarithm: LowerAten = (call) => {
  const found = determinant(call);
  return found && [...call.emit('Sign', found), ...call.emit('Log', call.emit('Abs', found))];
};

const logarithm: LowerAten = (call) => {
  const found = determinant(call);
  return found && call.emit('Log', found);
};

const inverse: LowerAten = (call) => {
  const given = matrices(call);
  return given && call.emitMany('Inverse', [given], 1, {}, 'com.microsoft');
};

export const linearAlgebraOperators: Readonly<Record<string, LowerAten>> = {
  ...each(['linalg_det.default', 'det.default'], determinant),
  ...each(['linalg_slogdet.default', 'slogdet.default'], signAndLogarithm),
  'logdet.default': logarithm,
  ...each(['linalg_inv.default', 'inverse.default'], inverse),
};
