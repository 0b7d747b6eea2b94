/** What a call of a layer spec may call, described alike: layers, blocks of the file, ONNX operators. */

import type { SpecBlock } from '../../formats/layer-spec/syntax.ts';
import { opset } from '../../lowering/layer-spec/graphBuilder.ts';
import {
  type LayerDefinition,
  type ParameterDefinition,
  printSignature,
  printValue,
} from '../../lowering/layer-spec/layerDefinition.ts';
import { findLayer } from '../../lowering/layer-spec/layerDefinitions.ts';
import { attributesOf, printAttributeType } from '../../operators/attributes.ts';
import { knownOperators } from '../../operators/registry.ts';
import { blocksOf, type SpecText } from './specText.ts';

export interface Callable {
  readonly name: string;
  readonly kind: 'module' | 'function' | 'block' | 'operator';
  readonly signature: string;
  readonly documentation: string;
  /** Address of the page of the signature; '' where there is none. */
  readonly page: string;
  /** Tensors it may be given as first arguments. */
  readonly tensors: readonly string[];
  readonly takesMoreTensors: boolean;
  readonly parameters: readonly CallableParameter[];
}

export interface CallableParameter {
  readonly name: string;
  readonly type: ParameterDefinition['type'];
  /** As Python writes it; `undefined` where a value is required or follows from the input. */
  readonly default: string | undefined;
  readonly follows: boolean;
  readonly rest: boolean;
  /** The texts it may be. */
  readonly choices: readonly string[];
  readonly documentation: string;
}

/** What `name` calls in this file: its blocks go before layers, layers before ONNX operators. */
export function findCallable(document: SpecText, name: string): Callable | undefined {
  const block = callableBlocks(document).find((candidate) => candidate.name === name);
  if (block !== undefined) return block;
  const layer = findLayer(name);
  if (layer !== undefined) return callableLayer(layer);
  return onnxOperators().find((operator) => operator.name === name);
}

/** The blocks of the file, then those of the files it includes, each name once. */
export function callableBlocks({ spec, source, included }: SpecText): readonly Callable[] {
  const own = blocksOf(spec).map((block) => callableBlock(block, source));
  const others = included.flatMap(({ path, text, blocks }) =>
    blocks.map((block) => callableBlock(block, text, path)),
  );
  const byName = new Map([...own, ...others].toReversed().map((block) => [block.name, block]));
  return [...byName.values()].toReversed();
}

export function callableLayer(definition: LayerDefinition): Callable {
  return {
    name: definition.name,
    kind: definition.kind,
    signature: printSignature(definition),
    documentation: definition.documentation,
    page: definition.source === '' ? '' : pageOf(definition.source),
    tensors: definition.kind === 'function' ? definition.inputs.names : [],
    takesMoreTensors: definition.kind === 'function' && definition.inputs.variadic === true,
    parameters: definition.parameters.map((parameter) => ({
      name: parameter.name,
      type: parameter.type,
      default: parameter.default === undefined ? undefined : printValue(parameter.default),
      follows: parameter.follows === true,
      rest: parameter.rest === true,
      choices: parameter.choices ?? [],
      documentation: parameter.documentation,
    })),
  };
}

export function callableBlock(block: SpecBlock, source: string, path?: string): Callable {
  const parameters = block.parameters.map(
    ({ name, default: value }): CallableParameter => ({
      name: name.text,
      type: 'any',
      default: value === undefined ? undefined : source.slice(value.span.start, value.span.end),
      follows: false,
      rest: false,
      choices: [],
      documentation: '',
    }),
  );
  const written = parameters.map(({ name, default: value }) =>
    value === undefined ? name : `${name}=${value}`,
  );
  const { length } = block.layers;
  const inputs = block.inputs.map(({ text }) => text).join(', ');
  return {
    name: block.name.text,
    kind: 'block',
    signature: `${block.name.text}(${written.join(', ')})${inputs === '' ? '' : ` from ${inputs}`}`,
    documentation: `Block of ${path ?? 'this file'}, ${length} ${length === 1 ? 'line' : 'lines'}.`,
    page: '',
    tensors: [],
    takesMoreTensors: false,
    parameters,
  };
}

let operators: readonly Callable[] | undefined;

/** The operators of the default ONNX domain, each once. */
export function onnxOperators(): readonly Callable[] {
  operators ??= [
    ...new Map(
      knownOperators()
        .filter(({ domain }) => domain === '')
        .map(({ type, documentation }): [string, Callable] => [
          type,
          {
            name: type,
            kind: 'operator',
            signature: `${type}(${['…', ...attributesOf('', type, opset).map(({ name }) => name)].join(', ')})`,
            documentation,
            page: `https://onnx.ai/onnx/operators/onnx__${type}.html`,
            tensors: [],
            takesMoreTensors: true,
            parameters: attributesOf('', type, opset).map((attribute) => ({
              name: attribute.name,
              type: 'any',
              default: attribute.default ?? (attribute.required ? undefined : 'None'),
              follows: false,
              rest: false,
              choices: [],
              documentation: `Attribute of ONNX: ${printAttributeType(attribute)}.`,
            })),
          },
        ]),
    ).values(),
  ];
  return operators;
}

const pageOf = (source: string): string =>
  /^https?:/.test(source) ? source : `https://docs.pytorch.org/docs/stable/generated/${source}`;

/** Signature, what it computes, and where that is written, as Markdown. */
export function describeCallable(callable: Callable): string {
  const link = callable.page === '' ? '' : ` [Reference](${callable.page})`;
  return [`\`\`\`python\n${callable.signature}\n\`\`\``, `${callable.documentation}${link}`].join('\n\n');
}
