import { expect, test } from 'vitest';
import { parseStackTrace } from '../../../server/src/formats/stackTrace.ts';
import { matchLines } from '../../../server/src/language/python/matchLines.ts';
import { ownFrame, recordedPath } from '../../../server/src/language/python/ownFrame.ts';
import { pythonBlocks } from '../../../server/src/language/python/pythonBlocks.ts';

test.each([
  ['at its place', ['a', 'b'], { 2: 1 }],
  ['below what was put above it', ['new', 'a', 'b'], { 2: 2 }],
  ['above, where lines went', ['b'], { 2: 0 }],
  ['indented otherwise', ['a', '    b'], { 2: 1 }],
  ['not where it is gone', ['a', 'c'], {}],
  ['at its place, where it stands twice', ['b', 'b'], { 2: 1 }],
])('a line is found %s', (_, lines, expected) => {
  expect(Object.fromEntries(matchLines([{ line: 2, text: 'b' }], lines))).toEqual(expected);
});

test('a line that stands twice follows its neighbour', () => {
  const recorded = [
    { line: 1, text: 'def first' },
    { line: 2, text: 'x = f(x)' },
    { line: 3, text: 'def second' },
    { line: 4, text: 'x = f(x)' },
  ];
  const lines = ['#', '#', 'def first', 'x = f(x)', '#', 'def second', 'x = f(x)'];
  expect([...matchLines(recorded, lines)]).toEqual([
    [1, 2],
    [2, 3],
    [3, 5],
    [4, 6],
  ]);
});

const trace = `File "/home/me/train.py", line 14, in forward
    x = block(x)
  File "/home/me/blocks.py", line 7, in forward
    return torch.relu(self.fc(x))
  File "/opt/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 134, in forward
    return F.linear(input, self.weight, self.bias)
  File "<string>", line 1, in generated`;

test('a trace is its frames, outermost first', () => {
  expect(parseStackTrace(trace).map(({ line, text }) => `${line} ${text}`)).toEqual([
    '14 x = block(x)',
    '7 return torch.relu(self.fc(x))',
    '134 return F.linear(input, self.weight, self.bias)',
    '1 ',
  ]);
  expect(parseStackTrace('no trace')).toEqual([]);
});

test('the innermost line of the person has the cost; in a file of a library it is its own', () => {
  const frames = parseStackTrace(trace);
  expect(ownFrame(frames, '/home/me/blocks.py')?.line).toBe(7);
  expect(ownFrame(frames, '/home/me/train.py')).toBeUndefined();
  expect(ownFrame(frames, '/opt/lib/python3.11/site-packages/torch/nn/modules/linear.py')?.line).toBe(134);
});

test('of files of one name it is the one whose folders agree', () => {
  const recorded = ['/home/me/a/model.py', '/home/me/b/model.py', '/home/me/model.py.bak'];
  expect(recordedPath(recorded, '/workspace/b/model.py')).toBe('/home/me/b/model.py');
  expect(recordedPath(recorded, 'c:\\work\\a\\model.py')).toBe('/home/me/a/model.py');
  expect(recordedPath(recorded, '/workspace/other.py')).toBeUndefined();
});

test('functions and classes end where their indentation does', () => {
  const text = `class A:
    def f(
        self,
    ):
        return 1
# note
    async def g(self): pass
def h():

    return 2
x = 1`;
  expect(
    pythonBlocks(text.split('\n')).map(({ name, line, lastLine }) => `${name} ${line}-${lastLine}`),
  ).toEqual(['A 0-6', 'f 1-4', 'g 6-6', 'h 7-9']);
});
