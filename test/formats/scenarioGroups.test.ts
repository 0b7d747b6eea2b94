import { describe, expect, test } from 'vitest';
import {
  readInputGroup,
  readLoraGroup,
  readRunGroup,
  readWorkersGroup,
} from '../../server/src/formats/scenarioGroups.ts';

describe('groups of a scenario', () => {
  test.each([
    ['sample-bytes=110000', { sampleBytes: 110000 }],
    ['sample-bytes=110000, decode-rate=60', { sampleBytes: 110000, decodeRate: 60 }],
    ['decode-rate=60,source=local', { decodeRate: 60, source: 'local' }],
    ['sample-bytes=1e6,read-gbs=0.8', { sampleBytes: 1e6, readRate: 8e8 }],
  ])('input %s', (text, value) => {
    expect(readInputGroup(text)).toEqual({ value, problems: [] });
  });

  test.each([
    ['samples=1281167,epochs=90,price=2.5', { samples: 1281167, epochs: 90, price: 2.5 }],
    ['samples=1000,price=spot', { samples: 1000, epochs: 1, price: 'spot' }],
    ['samples=100,start-seconds=60', { samples: 100, epochs: 1, start: 60 }],
  ])('run %s', (text, value) => {
    expect(readRunGroup(text)).toEqual({ value, problems: [] });
  });

  test.each([
    ['straggler=2', { straggler: 2 }],
    ['other-gpu=k80', { others: { gpu: 'k80', count: 1 } }],
    ['other-gpu=k80,other-count=4', { others: { gpu: 'k80', count: 4 } }],
  ])('workers %s', (text, value) => {
    expect(readWorkersGroup(text)).toEqual({ value, problems: [] });
  });

  test('workers imbalance=1.1,spread=0.05', () => {
    expect(readWorkersGroup('imbalance=1.1,spread=0.05').value).toEqual({ imbalance: 1.1, spread: 0.05 });
  });

  test.each([
    ['16', { rank: 16 }],
    [' rank = 16 ', { rank: 16 }],
    ['16,dropout=0.05', { rank: 16, dropout: 0.05 }],
    ['rank=8,base=nf4', { rank: 8, base: 'nf4' }],
    ['rank=8,layers=q_proj + *.v_proj', { rank: 8, layers: ['q_proj', '*.v_proj'] }],
  ])('lora %s', (text, value) => {
    expect(readLoraGroup(text)).toEqual({ value, problems: [] });
  });

  test.each([
    [readLoraGroup, 'layers=q_proj', /needs `rank`, such as `rank=16`/],
    [readLoraGroup, 'rank=1.5', /`rank` takes a whole number from 1, not "1.5"/],
    [readLoraGroup, 'rank=0', /above 0/],
    [readLoraGroup, 'rank=8,dropout=1', /`dropout` is a share of the elements: below 1/],
    [readLoraGroup, 'rank=8,base=int4', /`base` is nf4, not "int4"/],
    [readLoraGroup, 'base=nf4', /needs `rank`/],
    [readLoraGroup, 'rank=8,layers=q_proj+', /names with `\+` between them/],
    [readLoraGroup, 'rank=8,layers=', /`layers` takes a name/],
    [readLoraGroup, '8,r=2', /`r` is not part of `lora`; it takes rank, layers, dropout/],
    [readInputGroup, 'source=local', /needs `sample-bytes` or `decode-rate`/],
    [readInputGroup, 'sample-byte=1', /`sample-byte` is not part of `input`; did you mean `?sample-bytes/],
    [readInputGroup, 'sample-bytes=0', /takes a number above 0, not "0"/],
    [readInputGroup, 'decode-rate', /takes a number above 0, not ""/],
    [readInputGroup, 'decode-rate=9,source=disk', /local or shared, not "disk"/],
    [readWorkersGroup, 'imbalance=0.9', /at least 1/],
    [readWorkersGroup, 'spread=-1', /above 0/],
    // Numbers that overflow what is computed from them, or vanish beside it.
    [readWorkersGroup, 'spread=1e308', /from 1e-9 to 1000000, not "1e308"; check its unit/],
    [readWorkersGroup, 'straggler=2000000', /from 1e-9 to 1000000/],
    [readInputGroup, 'decode-rate=1e-308', /from 1e-9 to 1000000000000000/],
    [readRunGroup, 'samples=1e300,epochs=1', /from 1e-9 to 1000000000000000/],
    [readRunGroup, 'samples=Infinity', /from 1e-9 to/],
    [readWorkersGroup, 'straggler=0.5', /at least 1/],
    [readWorkersGroup, 'other-gpu=', /`other-gpu` takes a name/],
    [readWorkersGroup, 'other-count=2', /needs `other-gpu`/],
    [readWorkersGroup, 'other-gpu=k80,other-count=1.5', /whole number/],
    [readRunGroup, 'epochs=9', /needs `samples`/],
    [readRunGroup, 'samples=many', /above 0, not "many"/],
  ])('%o: %s is refused', (read, text, problem) => {
    expect(read(text).problems.join()).toMatch(problem);
  });
});
