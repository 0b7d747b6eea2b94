/** Complex numbers: views, Fourier transforms, and what is made of their parts. */

import { ownDomain } from '../../../operators/vocabulary/define.ts';
import { int, ints, type Tensor, text } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, each, fromFront, type LowerAten } from '../atenCall.ts';

const viewed =
  (kind: 'as-complex' | 'as-real' | 'part'): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    if (self === undefined) return undefined;
    const isComplex = self.elementType?.startsWith('complex') === true;
    // The real part of real numbers is themselves.
    if (kind !== 'as-complex' && !isComplex) return kind === 'part' ? [self] : undefined;
    return call.emitMany('ComplexView', [self], 1, { kind: text(kind) }, ownDomain);
  };

/** Pairs from two tensors of one shape, as one kernel writes them. */
function paired(call: AtenCall, one: Tensor, other: Tensor): readonly Tensor[] {
  const last = call.integers([-1]);
  const parts = [one, other].flatMap((part) => call.emit('Unsqueeze', [part, last]));
  const pairs = call.emit('Concat', parts, { axis: int(-1) });
  return call.emitMany('ComplexView', pairs, 1, { kind: text('as-complex') }, ownDomain);
}

const complex: LowerAten = (call) => {
  const [real, imaginary] = [call.tensor('real'), call.tensor('imag')];
  return real && imaginary && paired(call, real, imaginary);
};

/** r·(cos φ + i·sin φ). */
const polar: LowerAten = (call) => {
  const [size, angle] = [call.tensor('abs'), call.tensor('angle')];
  if (size === undefined || angle === undefined) return undefined;
  const part = (type: string) => call.emit('Mul', [size, ...call.emit(type, [angle])])[0];
  return paired(call, part('Cos'), part('Sin'));
};

/** Of real numbers it is a comparison; of complex ones a quotient of their parts and its arc. */
const angle: LowerAten = (call) => {
  const self = call.tensor('self');
  if (self === undefined || !self.elementType?.startsWith('complex')) return undefined;
  const part = () => call.emitMany('ComplexView', [self], 1, { kind: text('part') }, ownDomain);
  return call.emit('Atan', call.emit('Div', [...part(), ...part()]));
};

/** Of a complex number it is its length; of real ones `elements.ts` has it. */
export const absoluteOfComplex = (call: AtenCall, self: Tensor): readonly Tensor[] =>
  call.emitMany('ComplexAbs', [self], 1, {}, ownDomain);

/** Which axes it goes along: those that are named, those that have a size, all, or the last `count`. */
function axesOf(call: AtenCall, rank: number, count: number | undefined): readonly number[] {
  const named = [...call.numbers('dim', [])];
  if (named.length > 0) return named.map((axis) => fromFront(axis, rank));
  const sized = call.numbers('s', []).length;
  const last = count ?? (sized === 0 ? rank : sized);
  return Array.from({ length: last }, (_, index) => rank - last + index);
}

const transform =
  (count?: number, ofComplex = false): LowerAten =>
  (call) => {
    const given = call.tensor('self');
    const [result] = call.results;
    if (given?.shape === undefined || result === undefined) return undefined;
    // Transforms of complex numbers widen real ones first.
    const self = ofComplex ? call.cast(given, result.elementType) : given;
    if (self.shape === undefined) return undefined;
    const isReal = !result.elementType.startsWith('complex');
    const isFromReal = self.elementType?.startsWith('complex') !== true;
    const axes = axesOf(call, self.shape.length, count);
    const sizes = axes.map((axis) => result.shape[axis]);
    const known = sizes.flatMap((size) => (typeof size === 'number' ? [size] : []));
    if (known.length < axes.length || (isReal && isFromReal)) return undefined;
    const kind = isReal ? 'to-real' : isFromReal ? 'to-complex' : 'complex';
    const attributes = { kind: text(kind), axes: ints(axes), sizes: ints(known) };
    return call.emitMany('FourierTransform', [self], 1, attributes, ownDomain);
  };

/** Overlapping frames, each times the window and transformed; frequencies stand before frames. */
const shortTime: LowerAten = (call) => {
  const self = call.tensor('self');
  const length = call.number('n_fft');
  if (self?.shape === undefined || length === undefined || call.flag('center', false)) return undefined;
  const isSingle = self.shape.length === 1;
  const [signal] = isSingle ? call.emit('Unsqueeze', [self, call.integers([0])]) : [self];
  const width = call.numberOr('win_length', length);
  const window = width === length ? call.tensor('window') : undefined;
  if (signal.elementType?.startsWith('complex') || width !== length) return undefined;
  const step = call.scalar(call.number('hop_length') ?? Math.floor(length / 4), 'int64');
  const given = [signal, step, window, call.scalar(length, 'int64')];
  const isHalf = call.flag('onesided', true);
  const frames = call.emit('STFT', given, { onesided: int(isHalf ? 1 : 0) });
  const turned = call.emit('Transpose', frames, { perm: ints([0, 2, 1, 3]) });
  const batched = isSingle ? call.emit('Squeeze', [...turned, call.integers([0])]) : turned;
  if (!call.results[0]?.elementType.startsWith('complex')) return batched;
  return call.emitMany('ComplexView', batched, 1, { kind: text('as-complex') }, ownDomain);
};

export const complexOperators: Readonly<Record<string, LowerAten>> = {
  ...each(['view_as_complex.default', 'view_as_complex_copy.default'], viewed('as-complex')),
  ...each(['view_as_real.default', 'view_as_real_copy.default'], viewed('as-real')),
  ...each(['real.default', 'imag.default'], viewed('part')),
  'complex.default': complex,
  'polar.default': polar,
  'angle.default': angle,
  // Conjugates are a flag of the tensor until something reads them.
  ...each(['conj.default', '_conj.default', 'conj_physical.default', '_conj_physical.default'], (call) => {
    const self = call.tensor('self');
    return self && [self];
  }),
  ...each(['_fft_r2c.default', '_fft_c2r.default', '_fft_c2c.default'], transform()),
  ...each(['fft_rfft.default', 'fft_irfft.default', 'fft_hfft.default', 'fft_ihfft.default'], transform(1)),
  ...each(['fft_rfft2.default', 'fft_irfft2.default'], transform(2)),
  ...each(['fft_rfftn.default', 'fft_irfftn.default'], transform()),
  ...each(['fft_fft.default', 'fft_ifft.default'], transform(1, true)),
  ...each(['fft_fft2.default', 'fft_ifft2.default'], transform(2, true)),
  ...each(['fft_fftn.default', 'fft_ifftn.default'], transform(undefined, true)),
  ...each(['stft.default', 'stft.center'], shortTime),
};
