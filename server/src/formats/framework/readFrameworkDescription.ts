/** Reads user-defined framework of a framework: YAML or JSON, checked by schema, errors at the place. */

import { isMap, parseDocument } from 'yaml';
import type { FrameworkDescription } from '../../model/frameworkDescription.ts';
import type { Issue } from '../../model/issue.ts';
import { schemaProblems } from '../schemaProblems.ts';
import { spanOfKey, spanOfPath } from '../spanOfPath.ts';
import { firstLine, plainValue } from '../yamlDocument.ts';
import { frameworkFile } from './frameworkSchema.ts';

export interface ReadFramework {
  /** Absent where anything is wrong: nothing is costed with half a description. */
  readonly description: FrameworkDescription | undefined;
  readonly issues: readonly Issue[];
}

export function readFrameworkDescription(text: string): ReadFramework {
  const document = parseDocument(text, { prettyErrors: false });
  if (document.errors.length > 0) {
    return failure(
      document.errors.map((error) => ({
        ...syntax,
        message: `The description of the framework is not valid YAML: ${firstLine(error.message)}`,
        span: spanWithin(text, error.pos),
      })),
    );
  }
  const contents = document.contents;
  if (contents === null || !isMap(contents)) {
    const message = 'The description of a framework is a map: give at least `name`';
    return failure([{ ...structure, message, span: { start: 0, end: text.length } }]);
  }
  const value = plainValue(document);
  if (value === undefined) {
    const message = 'The description of the framework repeats anchors too often; write their values';
    return failure([{ ...structure, message, span: { start: 0, end: text.length } }]);
  }
  const checked = frameworkFile.safeParse(value);
  if (!checked.success) {
    return failure(
      schemaProblems(checked.error, frameworkFile, value).map(({ path, message, isKey }) => ({
        ...structure,
        message: `${pathText(path)} ${message}`,
        span: (isKey ? spanOfKey : spanOfPath)(contents, path, text.length),
      })),
    );
  }
  const { name, title, kernels, gradients, servers, update, input } = checked.data;
  const problem = contradictionOf(gradients.over, update, servers.asynchronous);
  if (problem !== undefined) {
    const span = spanOfPath(contents, problem.path, text.length);
    return failure([{ ...structure, message: problem.message, span }]);
  }
  return {
    description: {
      name,
      title: title ?? name,
      kernels,
      gradients: {
        ...gradients,
        firstBucketMiB: gradients.firstBucketMiB ?? gradients.bucketMiB,
        partMiB: gradients.partMiB,
        bytesPerElement: gradients.bytesPerElement,
      },
      servers: { ...servers, count: servers.count, splitFromElements: servers.splitFromElements },
      update,
      input,
    },
    issues: [],
  };
}

function contradictionOf(
  over: string,
  update: string,
  asynchronous: boolean,
): { readonly path: readonly string[]; readonly message: string } | undefined {
  if (over === 'parameter-servers') return undefined;
  if (update === 'at-servers') {
    return {
      path: ['update'],
      message: '`update: at-servers` needs servers: write `over: parameter-servers` under `gradients`',
    };
  }
  if (asynchronous) {
    return {
      path: ['servers', 'asynchronous'],
      message: '`asynchronous` needs servers: write `over: parameter-servers` under `gradients`',
    };
  }
  return undefined;
}

const syntax = { code: 'framework/syntax', severity: 'error' } as const;
const structure = { code: 'framework/structure', severity: 'error' } as const;

const failure = (issues: readonly Issue[]): ReadFramework => ({ description: undefined, issues });

const pathText = (path: readonly PropertyKey[]): string =>
  path.length === 0 ? 'The description of the framework' : `\`${path.map(String).join('.')}\``;

/** What is missing at the end of a text is reported one character behind it. */
function spanWithin(text: string, [start, end]: readonly [number, number]): NonNullable<Issue['span']> {
  const first = Math.min(start, text.length);
  return { start: first, end: Math.max(first, Math.min(end, text.length)) };
}
