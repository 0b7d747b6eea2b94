/**
 * Which operators are of one kind: the same rule applied to the same attributes, types and contents.
 *
 * Networks repeat their blocks, so thousands of operators are of a few dozen kinds. Rules are pure and see nothing
 * of an operator but what makes its kind; what one says of an operator therefore holds for all of its kind, and
 * each kind is inferred, and later costed, once.
 */

import type { OnnxGraph } from '../formats/onnx/syntax.ts';
import type { Attribute } from '../model/attribute.ts';
import type { Dimension } from '../model/dimension.ts';
import { isKnownShape, type TensorContent, type ValueType } from '../model/graph.ts';
import type { Attributes } from '../operators/context.ts';

export interface OperatorKinds {
  /** The one object that stands for all types equal to `type`. */
  intern(type: ValueType): ValueType;
  /** What the kind is told by; `undefined` where the operator is like no other (it holds graphs). */
  keyOf(subject: KindSubject): string | undefined;
  /** What was found for a kind before. */
  find(key: string): InferredKind | undefined;
  /** Keeps what was found for a kind; its outputs are of interned types. */
  add(key: string, attributes: Attributes, outputs: InferredOutputs): InferredKind;
}

/** Everything of an operator that a rule can see. */
export interface KindSubject {
  readonly domain: string;
  readonly type: string;
  readonly opset: number;
  readonly attributes: ReadonlyMap<string, Attribute<OnnxGraph>>;
  /** `undefined` where an optional input is absent. */
  readonly inputs: readonly ({ readonly type: ValueType; readonly content?: TensorContent } | undefined)[];
  /** Names of its outputs, of which only those that are absent ('') matter. */
  readonly outputs: readonly string[];
}

export interface InferredOutputs {
  readonly types: readonly ValueType[];
  readonly contents: readonly (TensorContent | undefined)[];
}

export interface InferredKind {
  /** Unique within the analysis. */
  readonly number: number;
  readonly attributes: Attributes;
  readonly outputs: InferredOutputs;
}

/** Kinds of one analysis, none known yet. */
export function collectOperatorKinds(): OperatorKinds {
  const types = numberByKey<ValueType>(keyOfType);
  const contents = numberByKey<TensorContent>(keyOfContent);
  const kinds = new Map<string, InferredKind>();
  const attributeKeys = collectAttributeKeys();
  return {
    intern: types.intern,
    keyOf: ({ domain, type, opset, attributes, inputs, outputs }) => {
      const own = attributeKeys(attributes);
      if (own === undefined) return undefined;
      let key = `${text(domain)}${text(type)}${opset} ${own}`;
      for (const name of outputs) key += name === '' ? '-' : '+';
      for (const input of inputs) {
        if (input === undefined) key += ',';
        else if (input.content === undefined) key += `${types.numberOf(input.type)},`;
        else key += `${types.numberOf(input.type)}=${contents.numberOf(input.content)},`;
      }
      return key;
    },
    find: (key) => kinds.get(key),
    add: (key, attributes, outputs) => {
      const kind = {
        number: kinds.size,
        attributes,
        outputs: { types: outputs.types.map(types.intern), contents: outputs.contents },
      };
      kinds.set(key, kind);
      return kind;
    },
  };
}

interface Numbering<T> {
  readonly intern: (item: T) => T;
  readonly numberOf: (item: T) => number;
}

/** Gives equal items one number and one representative; items without a key equal only themselves. */
function numberByKey<T extends object>(keyOf: (item: T) => string | undefined): Numbering<T> {
  const numbers = new Map<T, number>();
  const representatives = new Map<string, T>();
  const intern = (item: T): T => {
    if (numbers.has(item)) return item;
    const key = keyOf(item);
    const known = key === undefined ? undefined : representatives.get(key);
    if (known !== undefined) return known;
    if (key !== undefined) representatives.set(key, item);
    numbers.set(item, numbers.size);
    return item;
  };
  return { intern, numberOf: (item) => numbers.get(item) ?? numbers.get(intern(item)) ?? -1 };
}

/**
 * Sequences and maps are rare; each object equals only itself. What is unknown for one reason is equal: behind a line
 * that is half written, nearly everything is.
 */
function keyOfType(type: ValueType): string | undefined {
  if (type.kind === 'unknown') return `unknown ${type.reason}`;
  if (type.kind !== 'tensor') return undefined;
  if (!isKnownShape(type.shape)) return `${type.elementType} unknown ${type.shape.reason}`;
  return `${type.elementType} ${keyOfDimensions(type.shape)}`;
}

/** Longer contents are tables, and looking them through costs more than it saves. */
const longestContent = 64;

function keyOfContent({ shape, elements }: TensorContent): string | undefined {
  return elements.length > longestContent ? undefined : `${shape} ${keyOfDimensions(elements)}`;
}

function keyOfDimensions(dimensions: readonly Dimension[]): string {
  let key = '';
  for (const dimension of dimensions) {
    key += `${typeof dimension === 'number' ? dimension : JSON.stringify(dimension)},`;
  }
  return key;
}

/**
 * Keys of attributes. Nodes of a file that write their attributes alike share them (`formats/onnx/readGraph.ts`): each
 * list is looked through once, and those that hold tensors are alike where they are the same.
 */
function collectAttributeKeys(): (attributes: KindSubject['attributes']) => string | undefined {
  const known = new Map<KindSubject['attributes'], string | undefined>();
  return (attributes) => {
    if (attributes.size === 0) return '';
    const before = known.get(attributes);
    if (before !== undefined || known.has(attributes)) return before;
    const key = keyOfAttributes(attributes, known.size);
    known.set(attributes, key);
    return key;
  };
}

/** `number` is that of the list, and of no other. */
function keyOfAttributes(attributes: KindSubject['attributes'], number: number): string | undefined {
  let key = '';
  for (const [name, attribute] of attributes) {
    switch (attribute.kind) {
      case 'int':
      case 'float':
      case 'ints':
      case 'floats':
        key += `${text(name)}${attribute.kind} ${attribute.value};`;
        break;
      case 'string':
        key += `${text(name)}${text(attribute.value)};`;
        break;
      case 'tensor':
        key += `${text(name)}tensor of ${number};`;
        break;
      default:
        return undefined;
    }
  }
  return key;
}

/** With its length before it, no text runs into what follows, whatever characters it has. */
const text = (value: string): string => `${value.length}:${value}`;
