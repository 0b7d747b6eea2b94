/**
 * Dimensions: a number, an expression over named symbols, or unknown with the reason why.
 *
 * Expressions are polynomials with integer coefficients in canonical form, so that equality is structural and
 * the `Shape → Gather → Mul → Reshape` chains of exporters cancel. What a polynomial cannot express (a quotient
 * with remainder, a minimum) becomes an atom that takes part like a symbol.
 */

export type Dimension = number | SymbolicDimension | UnknownDimension;

export interface SymbolicDimension {
  readonly kind: 'symbolic';
  /** Sum of terms, sorted by key, coefficients never 0; at least one term has a factor. */
  readonly terms: readonly Term[];
}

interface Term {
  readonly coefficient: number;
  /** Sorted by text; repeated for powers; empty for the constant term. */
  readonly factors: readonly Atom[];
}

type Atom =
  | { readonly kind: 'symbol'; readonly text: string }
  /** An integer past 2⁵³, by its digits: it cancels like a symbol, and no scenario can give it another value. */
  | { readonly kind: 'integer'; readonly text: string }
  | {
      readonly kind: CompoundKind;
      readonly text: string;
      readonly left: Dimension;
      readonly right: Dimension;
    };

/** `broadcast` is what two dimensions of unlike tensors become together: the same number, or the one that is not 1. */
type CompoundKind = 'quotient' | 'maximum' | 'minimum' | 'broadcast';

export interface UnknownDimension {
  readonly kind: 'unknown';
  readonly reason: string;
  /** It is no more than this, where that is known. */
  readonly atMost?: KnownDimension;
}

export type KnownDimension = number | SymbolicDimension;

/** Values of symbols. */
export type Bindings = ReadonlyMap<string, number>;

/** A dimension named in the model, such as `batch`. */
export function symbol(name: string): SymbolicDimension {
  return { kind: 'symbolic', terms: [{ coefficient: 1, factors: [{ kind: 'symbol', text: name }] }] };
}

/** The integer with these decimal digits, exactly: one that a number cannot hold is kept by its digits. */
export function integerDimension(digits: string): Dimension {
  const value = Number(digits);
  if (Number.isSafeInteger(value)) return value;
  return { kind: 'symbolic', terms: [{ coefficient: 1, factors: [{ kind: 'integer', text: digits }] }] };
}

/** A dimension that depends on data, and the most it can be where something is known of that. */
export function unknownDimension(reason: string, limit?: Dimension): UnknownDimension {
  const atMost = limit === undefined ? undefined : boundOf(limit);
  return atMost === undefined ? { kind: 'unknown', reason } : { kind: 'unknown', reason, atMost };
}

/** The most a dimension can be: itself where it is known. */
export function boundOf(dimension: Dimension): KnownDimension | undefined {
  return isUnknown(dimension) ? dimension.atMost : dimension;
}

export function isUnknown(dimension: Dimension): dimension is UnknownDimension {
  return typeof dimension !== 'number' && dimension.kind === 'unknown';
}

export function isSymbolic(dimension: Dimension): dimension is SymbolicDimension {
  return typeof dimension !== 'number' && dimension.kind === 'symbolic';
}

export function addDimensions(left: Dimension, right: Dimension): Dimension {
  if (typeof left === 'number' && typeof right === 'number') return left + right;
  if (isUnknown(left) || isUnknown(right)) return combineUnknown(left, right, addDimensions);
  if (typeof right === 'number') return addNumber(left, right);
  if (typeof left === 'number') return addNumber(right, left);
  return withinReason(fromTerms([...termsOf(left), ...termsOf(right)]));
}

/** Terms stay in order, since the constant one is the last. */
function addNumber(dimension: KnownDimension, number: number): Dimension {
  if (typeof dimension === 'number') return dimension + number;
  const { terms } = dimension;
  const last = terms.at(-1);
  const constant = last?.factors.length === 0 ? last.coefficient : undefined;
  const sum = (constant ?? 0) + number;
  if (sum === constant || number === 0) return dimension;
  const others = constant === undefined ? terms : terms.slice(0, -1);
  const kept = sum === 0 ? others : [...others, { coefficient: sum, factors: [] }];
  return withinReason({ kind: 'symbolic', terms: kept });
}

export function subtractDimensions(left: Dimension, right: Dimension): Dimension {
  return addDimensions(left, multiplyDimensions(right, -1));
}

export function multiplyDimensions(left: Dimension, right: Dimension): Dimension {
  if (typeof left === 'number' && typeof right === 'number') return left * right;
  if (left === 0 || right === 0) return 0;
  if (isUnknown(left)) return isNeverNegative(right) ? scaleUnknown(left, right) : withoutBound(left);
  if (isUnknown(right)) return isNeverNegative(left) ? scaleUnknown(right, left) : withoutBound(right);
  if (typeof right === 'number') return scale(left, right);
  if (typeof left === 'number') return scale(right, left);
  const leftTerms = termsOf(left);
  const rightTerms = termsOf(right);
  if (leftTerms.length * rightTerms.length > mostTerms ** 2) return tooLong;
  return withinReason(
    fromTerms(
      leftTerms.flatMap((a) =>
        rightTerms.map((b) => ({
          coefficient: a.coefficient * b.coefficient,
          factors: [...a.factors, ...b.factors].sort(byText),
        })),
      ),
    ),
  );
}

function scale(dimension: KnownDimension, number: number): Dimension {
  if (number === 1) return dimension;
  if (typeof dimension === 'number') return dimension * number;
  const terms = dimension.terms.map(({ coefficient, factors }) => ({
    coefficient: coefficient * number,
    factors,
  }));
  return { kind: 'symbolic', terms };
}

export function productOfDimensions(dimensions: Iterable<Dimension>): Dimension {
  let product: Dimension = 1;
  for (const dimension of dimensions) product = multiplyDimensions(product, dimension);
  return product;
}

/** ⌊left / right⌋, exact where the polynomial divides. */
export function floorDivideDimensions(left: Dimension, right: Dimension): Dimension {
  if (right === 0) return unknownDimension('division by a dimension of 0');
  if (typeof left === 'number' && typeof right === 'number') return Math.floor(left / right);
  if (isUnknown(left)) return divideUnknown(left, right, floorDivideDimensions);
  if (isUnknown(right)) return withoutBound(right);
  return exactQuotient(left, right) ?? atom('quotient', left, right);
}

/** ⌈left / right⌉ for a positive right. */
export function ceilDivideDimensions(left: Dimension, right: Dimension): Dimension {
  if (isUnknown(left)) return divideUnknown(left, right, ceilDivideDimensions);
  if (isUnknown(right)) return withoutBound(right);
  return (
    exactQuotient(left, right) ??
    floorDivideDimensions(subtractDimensions(addDimensions(left, right), 1), right)
  );
}

export function maximumOfDimensions(left: Dimension, right: Dimension): Dimension {
  if (typeof left === 'number' && typeof right === 'number') return Math.max(left, right);
  if (equalDimensions(left, right)) return left;
  if (isUnknown(left) || isUnknown(right)) return combineUnknown(left, right, maximumOfDimensions);
  return atom('maximum', left, right);
}

export function minimumOfDimensions(left: Dimension, right: Dimension): Dimension {
  if (typeof left === 'number' && typeof right === 'number') return Math.min(left, right);
  if (equalDimensions(left, right)) return left;
  if (isUnknown(left) || isUnknown(right)) {
    // The lesser of two is no more than either, so that one bound is enough.
    const [one, other] = [boundOf(left), boundOf(right)];
    const limit = one === undefined || other === undefined ? (one ?? other) : minimumOfDimensions(one, other);
    return unknownDimension(reasonOf(left, right), limit);
  }
  return atom('minimum', left, right);
}

/**
 * What two dimensions become when tensors are broadcast together (ONNX Broadcasting.md); `undefined` where two
 * numbers contradict each other.
 *
 * A symbol meeting a number other than 1 is taken to be that number: it can only be that or 1. Two different
 * symbols are left open until both have values.
 */
export function broadcastDimensions(left: Dimension, right: Dimension): Dimension | undefined {
  if (left === 1 || equalDimensions(left, right)) return right;
  if (right === 1) return left;
  if (typeof left === 'number') return typeof right === 'number' ? undefined : left;
  if (typeof right === 'number') return right;
  if (isUnknown(left) || isUnknown(right)) return combineUnknown(left, right, maximumOfDimensions);
  if (broadcasts(left, right)) return left;
  if (broadcasts(right, left)) return right;
  return atom('broadcast', left, right);
}

/** left / right where that is exact for every value of the symbols, otherwise `undefined`. */
export function divideExactly(left: Dimension, right: Dimension): Dimension | undefined {
  if (right === 0 || isUnknown(left) || isUnknown(right)) return undefined;
  if (typeof left === 'number' && typeof right === 'number') {
    return left % right === 0 ? left / right : undefined;
  }
  return exactQuotient(left, right);
}

/** Whether both are the same for every value of their symbols. An unknown dimension equals nothing. */
export function equalDimensions(left: Dimension, right: Dimension): boolean {
  if (typeof left === 'number' || typeof right === 'number') return left === right;
  if (isUnknown(left) || isUnknown(right)) return false;
  return left === right || printDimension(left) === printDimension(right);
}

/** The number a dimension stands for under these bindings, or why there is none. */
export function evaluateDimension(dimension: Dimension, bindings: Bindings): number | UnknownDimension {
  if (typeof dimension === 'number') return dimension;
  if (isUnknown(dimension)) return evaluateBound(dimension, bindings);
  let total = 0;
  for (const term of dimension.terms) {
    let product = term.coefficient;
    for (const factor of term.factors) {
      const value = evaluateAtom(factor, bindings);
      if (typeof value !== 'number') return value;
      product *= value;
    }
    total += product;
  }
  return total;
}

/** The dimension with one symbol replaced by a number; the others stay open. */
export function withSymbol(dimension: Dimension, name: string, value: number): Dimension {
  if (isUnknown(dimension)) {
    const { reason, atMost } = dimension;
    return atMost === undefined ? dimension : unknownDimension(reason, withSymbol(atMost, name, value));
  }
  if (typeof dimension === 'number' || !symbolsOf(dimension).includes(name)) return dimension;
  let total: Dimension = 0;
  for (const { coefficient, factors } of dimension.terms) {
    const replaced = factors.map((factor) => atomWithSymbol(factor, name, value));
    total = addDimensions(total, productOfDimensions([coefficient, ...replaced]));
  }
  return total;
}

function atomWithSymbol(factor: Atom, name: string, value: number): Dimension {
  if (factor.kind === 'symbol' && factor.text === name) return value;
  if (!('left' in factor)) return { kind: 'symbolic', terms: [{ coefficient: 1, factors: [factor] }] };
  const left = withSymbol(factor.left, name, value);
  const right = withSymbol(factor.right, name, value);
  switch (factor.kind) {
    case 'quotient':
      return floorDivideDimensions(left, right);
    case 'maximum':
      return maximumOfDimensions(left, right);
    case 'minimum':
      return minimumOfDimensions(left, right);
    case 'broadcast':
      return (
        broadcastDimensions(left, right) ??
        unknownDimension(`${printDimension(left)} and ${printDimension(right)} do not broadcast together`)
      );
  }
}

/** Whether it is past 2⁶³ − 1, the most a 64-bit size can count, whatever its symbols are. */
export function isPast64Bits(dimension: Dimension): boolean {
  if (typeof dimension === 'number') return dimension > 2 ** 63;
  if (dimension.kind === 'unknown') return false;
  let total = 0n;
  for (const { coefficient, factors } of dimension.terms) {
    if (!factors.every(({ kind }) => kind === 'integer')) return false;
    total += factors.reduce((product, { text }) => product * BigInt(text), BigInt(coefficient));
  }
  return total > 2n ** 63n - 1n;
}

/** Names of the symbols a dimension depends on, in order of appearance. */
export function symbolsOf(dimension: Dimension): readonly string[] {
  if (!isSymbolic(dimension)) return [];
  const names = dimension.terms.flatMap((term) =>
    term.factors.flatMap((factor) =>
      'left' in factor
        ? [...symbolsOf(factor.left), ...symbolsOf(factor.right)]
        : factor.kind === 'symbol'
          ? [factor.text]
          : [],
    ),
  );
  return [...new Set(names)];
}

/** `batch*seq`, `2*n + 1`; `≤300` for what is only known to be no more, `?` for unknown. */
export function printDimension(dimension: Dimension): string {
  if (typeof dimension === 'number') return String(dimension);
  if (isUnknown(dimension))
    return dimension.atMost === undefined ? '?' : `≤${printDimension(dimension.atMost)}`;
  return dimension.terms
    .map((term, index) => {
      const magnitude = Math.abs(term.coefficient);
      const names = keyOf(term);
      const body = names === '' ? String(magnitude) : magnitude === 1 ? names : `${magnitude}*${names}`;
      if (index === 0) return term.coefficient < 0 ? `-${body}` : body;
      return term.coefficient < 0 ? ` - ${body}` : ` + ${body}`;
    })
    .join('');
}

function evaluateBound(dimension: UnknownDimension, bindings: Bindings): UnknownDimension {
  const { reason, atMost } = dimension;
  return atMost === undefined ? dimension : unknownDimension(reason, evaluateDimension(atMost, bindings));
}

/** What two dimensions, one of them unknown, become by an operation that grows with both. */
function combineUnknown(
  left: Dimension,
  right: Dimension,
  combine: (left: Dimension, right: Dimension) => Dimension,
): UnknownDimension {
  const [one, other] = [boundOf(left), boundOf(right)];
  const limit = one === undefined || other === undefined ? undefined : combine(one, other);
  return unlessUnbounded(isUnknown(left) ? left : right, reasonOf(left, right), limit);
}

function scaleUnknown(dimension: UnknownDimension, factor: KnownDimension): UnknownDimension {
  const limit = dimension.atMost === undefined ? undefined : multiplyDimensions(dimension.atMost, factor);
  return unlessUnbounded(dimension, dimension.reason, limit);
}

function divideUnknown(
  dimension: UnknownDimension,
  divisor: Dimension,
  divide: (left: Dimension, right: Dimension) => Dimension,
): UnknownDimension {
  if (dimension.atMost === undefined || !isNeverNegative(divisor)) return withoutBound(dimension);
  return unknownDimension(dimension.reason, divide(dimension.atMost, divisor));
}

const reasonOf = (left: Dimension, right: Dimension): string =>
  isUnknown(left) ? left.reason : isUnknown(right) ? right.reason : '';

/** The dimension itself where it has no bound. */
function unlessUnbounded(
  dimension: Dimension,
  reason: string,
  limit: Dimension | undefined,
): UnknownDimension {
  const isSame = limit === undefined && isUnknown(dimension) && dimension.atMost === undefined;
  return isSame ? dimension : unknownDimension(reason, limit);
}

const withoutBound = (dimension: UnknownDimension): UnknownDimension =>
  dimension.atMost === undefined ? dimension : unknownDimension(dimension.reason);

/** Whether it is 0 or more whatever its symbols are; sizes that symbols stand for are. */
function isNeverNegative(dimension: Dimension): dimension is KnownDimension {
  if (typeof dimension === 'number') return dimension >= 0;
  if (isUnknown(dimension)) return false;
  return dimension.terms.every(
    ({ coefficient, factors }) =>
      coefficient > 0 &&
      factors.every(
        (factor) => !('left' in factor) || (isNeverNegative(factor.left) && isNeverNegative(factor.right)),
      ),
  );
}

function evaluateAtom(factor: Atom, bindings: Bindings): number | UnknownDimension {
  if (factor.kind === 'symbol') {
    return bindings.get(factor.text) ?? unknownDimension(`dimension \`${factor.text}\` has no value`);
  }
  if (factor.kind === 'integer') {
    return unknownDimension(`a dimension is ${factor.text}, more than 2⁵³ elements, which no memory holds`);
  }
  const left = evaluateDimension(factor.left, bindings);
  if (typeof left !== 'number') return left;
  const right = evaluateDimension(factor.right, bindings);
  if (typeof right !== 'number') return right;
  switch (factor.kind) {
    case 'quotient':
      return right === 0 ? unknownDimension('division by a dimension of 0') : Math.floor(left / right);
    case 'maximum':
      return Math.max(left, right);
    case 'minimum':
      return Math.min(left, right);
    case 'broadcast':
      if (left === right || right === 1) return left;
      if (left === 1) return right;
      return unknownDimension(
        `\`${printDimension(factor.left)}\` is ${left} and \`${printDimension(factor.right)}\` is ${right}, but they are broadcast together`,
      );
  }
}

/** Whether `whole` is a broadcast that `part` already takes part in. */
function broadcasts(whole: SymbolicDimension, part: Dimension): boolean {
  const [term, more] = whole.terms;
  const [factor, another] = term?.factors ?? [];
  if (more !== undefined || another !== undefined || term?.coefficient !== 1) return false;
  if (factor?.kind !== 'broadcast') return false;
  return [factor.left, factor.right].some(
    (side) => equalDimensions(side, part) || (isSymbolic(side) && broadcasts(side, part)),
  );
}

function atom(kind: CompoundKind, left: Dimension, right: Dimension): Dimension {
  const l = printDimension(left);
  const r = printDimension(right);
  if (l.length + r.length > longestText) return tooLong;
  const text = kind === 'quotient' ? `floor((${l})/(${r}))` : `${atomNames[kind]}(${l}, ${r})`;
  return { kind: 'symbolic', terms: [{ coefficient: 1, factors: [{ kind, text, left, right }] }] };
}

/**
 * Arithmetic of real models stays far below these; a graph that squares a sum again and again, or divides what it
 * divided, would otherwise fill the memory with one dimension.
 */
const mostTerms = 64;
const mostFactors = 64;
const longestText = 4000;

const tooLong = unknownDimension('its expression over symbols is too long to follow');

function withinReason(dimension: Dimension): Dimension {
  if (!isSymbolic(dimension)) return dimension;
  const short =
    dimension.terms.length <= mostTerms &&
    dimension.terms.every(({ factors }) => factors.length <= mostFactors);
  return short ? dimension : tooLong;
}

const atomNames = { maximum: 'max', minimum: 'min', broadcast: 'broadcast' } as const;

/**
 * The polynomial q with q·right = left, where there is one: long division on leading terms.
 *
 * Terms are ordered by degree and then by name, which is not a monomial order for every input, so the result is
 * multiplied back before it is believed.
 */
function exactQuotient(left: Dimension, right: Dimension): Dimension | undefined {
  if (left === 0) return 0;
  const [divisor] = termsOf(right);
  if (divisor === undefined) return undefined;
  const quotients: Term[] = [];
  let rest: Dimension = left;
  for (let round = 0; rest !== 0; round += 1) {
    const [first] = termsOf(rest);
    const quotient = first === undefined || round > longestQuotient ? undefined : divideTerm(first, divisor);
    if (quotient === undefined) return undefined;
    quotients.push(quotient);
    rest = subtractDimensions(rest, multiplyDimensions(fromTerms([quotient]), right));
  }
  const quotient = fromTerms(quotients);
  return equalDimensions(multiplyDimensions(quotient, right), left) ? quotient : undefined;
}

/** Shape arithmetic divides by short products; anything longer is not worth the time. */
const longestQuotient = 64;

function divideTerm(term: Term, divisor: Term): Term | undefined {
  if (term.coefficient % divisor.coefficient !== 0) return undefined;
  const factors = [...term.factors];
  for (const factor of divisor.factors) {
    const position = factors.findIndex((candidate) => candidate.text === factor.text);
    if (position < 0) return undefined;
    factors.splice(position, 1);
  }
  return { coefficient: term.coefficient / divisor.coefficient, factors };
}

function termsOf(dimension: number | SymbolicDimension | UnknownDimension): readonly Term[] {
  if (typeof dimension === 'number') return dimension === 0 ? [] : [{ coefficient: dimension, factors: [] }];
  return dimension.kind === 'symbolic' ? dimension.terms : [];
}

/** Canonical form: like terms merged, zeros dropped, highest degree first; a constant becomes a number. */
function fromTerms(terms: readonly Term[]): Dimension {
  const byKey = new Map<string, Term>();
  for (const term of terms) {
    const key = keyOf(term);
    const before = byKey.get(key);
    byKey.set(key, { coefficient: (before?.coefficient ?? 0) + term.coefficient, factors: term.factors });
  }
  const kept = [...byKey.values()].filter((term) => term.coefficient !== 0);
  if (kept.length === 0) return 0;
  const [only] = kept;
  if (kept.length === 1 && only !== undefined && only.factors.length === 0) return only.coefficient;
  kept.sort((a, b) => b.factors.length - a.factors.length || (keyOf(a) < keyOf(b) ? -1 : 1));
  return { kind: 'symbolic', terms: kept };
}

const keyOf = (term: Term): string => term.factors.map((factor) => factor.text).join('*');

const byText = (a: Atom, b: Atom): number => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0);
