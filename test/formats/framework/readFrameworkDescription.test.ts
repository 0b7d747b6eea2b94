import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { describedExample } from '../../../scripts/frameworksPage.ts';
import { readFrameworkDescription } from '../../../server/src/formats/framework/readFrameworkDescription.ts';
import {
  backwardAt,
  forwardAt,
  theUpdate,
  type WorkerGroup,
} from '../../../server/src/frameworks/exchange.ts';
import type { Gradient } from '../../../server/src/frameworks/gradient.ts';
import { resolveFramework } from '../../../server/src/frameworks/registry.ts';
import { bytes, seconds } from '../../../server/src/model/units.ts';

const gradients: readonly Gradient[] = Array.from({ length: 8 }, (_, index) => ({
  parameter: `p${index}`,
  index,
  elements: 2 ** 20,
  bytes: bytes(2 ** 22),
  readyAfter: index,
  usedFrom: 7 - index,
}));
const group: WorkerGroup = {
  gpus: 8,
  nodes: 2,
  gpusPerNode: 4,
  operators: 8,
  precision: 'fp32',
};

function exchangeOf(text: string) {
  const { description, issues } = readFrameworkDescription(text);
  expect(issues).toEqual([]);
  if (description === undefined) throw new Error('no description');
  const { behaviour } = resolveFramework({ name: description.name, options: {}, description });
  return behaviour.exchange(gradients, group, {
    backwardEnds: () => new Float64Array(8),
    backwardLaunches: () => new Float64Array(8),
    batchPerGpu: () => 1,
    timeOf: () => seconds(0),
  });
}

test('the example of the page has every key', () => {
  const { issues, description } = readFrameworkDescription(describedExample);
  expect(issues).toEqual([]);
  expect(description?.gradients.firstBucketMiB).toBe(1);
});

describe('what is sent', () => {
  test('a name alone is buckets of 25 MiB all-reduced during backward', () => {
    const { messages, update } = exchangeOf('name: mine');
    expect(messages.map((message) => message.bytes / 2 ** 20)).toEqual([28, 4]);
    expect(messages[0]?.after).toEqual(backwardAt(6));
    expect(messages[0]?.before).toEqual(theUpdate);
    expect(update).toBe('after all');
  });

  test('tensors by priority, each needed by its next use, in parts', () => {
    const { messages } = exchangeOf(
      'name: mine\ngradients: { messages: tensors, partMiB: 2, order: by-priority, neededBy: next-use }\nupdate: as-they-arrive',
    );
    expect(messages).toHaveLength(16);
    expect(messages[0]).toMatchObject({ before: forwardAt(7), priority: 7, bytes: 2 ** 21 });
    expect(messages[0]?.stages[0]?.channel.order).toBe('by priority');
  });

  test('asynchronous servers', () => {
    const exchange = exchangeOf(
      'name: mine\ngradients: { messages: tensors, over: parameter-servers }\nservers: { count: 3, asynchronous: true }\nupdate: at-servers',
    );
    expect(exchange.synchrony).toBe('asynchronous');
    expect(exchange.update).toBe('at servers');
    const operations = exchange.messages[0]?.stages.map(({ operation }) => operation.kind);
    expect(operations).toEqual(['collective', 'server', 'collective']);
  });
});

describe('what is wrong is said at its place', () => {
  test.each([
    ['', 'framework/structure', 'The description of a framework is a map: give at least `name`', ''],
    ['name: [', 'framework/syntax', 'The description of the framework is not valid YAML', ''],
    ['title: x', 'framework/structure', '`name` is missing; it takes text', 'title: x'],
    ['name: Mine', 'framework/structure', '`name` must be lower case letters', 'Mine'],
    [
      'name: m\ngradients: { mesages: one }',
      'framework/structure',
      '`gradients.mesages` is not known; did you mean `messages`?',
      'mesages',
    ],
    [
      'name: m\ninput: { xyz: 1 }',
      'framework/structure',
      '`input.xyz` is not known; known keys: ahead, reads and pipelined',
      'xyz',
    ],
    [
      'name: m\nupdate: after-al',
      'framework/structure',
      '`update` takes one of after-all, as-they-arrive, at-servers; did you mean `after-all`?',
      'after-al',
    ],
    [
      'name: m\ngradients: buckets',
      'framework/structure',
      '`gradients` takes a map of messages, bucketMiB, firstBucketMiB',
      'buckets',
    ],
    [
      'name: m\nservers: { colocated: 3 }',
      'framework/structure',
      '`servers.colocated` takes true or false',
      '3',
    ],
    [
      'name: m\ngradients: { bucketMiB: 0 }',
      'framework/structure',
      '`gradients.bucketMiB` must be more than 0',
      '0',
    ],
    [
      'name: m\ngradients: { bytesPerElement: 9 }',
      'framework/structure',
      '`gradients.bytesPerElement` must be at most 8',
      '9',
    ],
    ['name: m\ntitle: ""', 'framework/structure', '`title` must not be empty', '""'],
    [
      'name: m\nupdate: at-servers',
      'framework/structure',
      '`update: at-servers` needs servers',
      'at-servers',
    ],
    [
      'name: m\nservers: { asynchronous: true }',
      'framework/structure',
      '`asynchronous` needs servers',
      'true',
    ],
  ])('%j', (text, code, message, place) => {
    const { description, issues } = readFrameworkDescription(text);
    expect(description).toBeUndefined();
    const [issue] = issues;
    expect(issue?.code).toBe(code);
    expect(issue?.message).toContain(message);
    expect(issue?.message).not.toMatch(/\.$/);
    if (place !== '') expect(text.slice(issue?.span?.start, issue?.span?.end).trim()).toBe(place);
  });

  test('any text gives a description or a reason', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const { description, issues } = readFrameworkDescription(text);
        expect((description === undefined) === issues.length > 0).toBe(true);
      }),
    );
  });
});
