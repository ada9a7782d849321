import { expect, test } from 'vitest';
import { stsRecordId } from '../../../../src/lib/smtp/policy/mta-sts.ts';
import { processorMs } from '../../../support/processor-time.ts';

test.each([
  [['v=STSv1; id=20160831085700Z;']],
  [['v=STSv1;id=20160831085700Z']],
  [['v=STSv1; id=20160831085700Z ; ']],
  [['v=STSv1; ext=a:b,c; id=20160831085700Z;']],
  [['something else', 'v=STSv1; id=20160831085700Z;', 'v=STSv2; id=1;']],
])('%j name a policy', (texts) => {
  expect(stsRecordId(texts)).toBe('20160831085700Z');
});

test.each([
  [[]],
  [['v=STSv1; id=1;', 'v=STSv1; id=1;']],
  [['v=STSv1;']],
  [['v=STSv1; id=;']],
  [['v=STSv1; id=a-b;']],
  [[`v=STSv1; id=${'1'.repeat(33)};`]],
  [['v=STSv1; ID=1;']],
  [['v=STSv1; id=1; nonsense;']],
  [['v=STSv1; id=1; x=;']],
  [['v=STSv1; id=1;; x=y']],
  [['v=STSv1; id=1\r\n;']],
  [['v=STSv1; id=1\0;']],
  [['V=STSv1; id=1;']],
  [['id=1; v=STSv1;']],
])('%j name no policy', (texts) => {
  expect(stsRecordId(texts)).toBeNull();
});

test.each(['x', ' ', ';', ' ;', 'a=b;'])('10 MB of %j name no policy, quickly', (each) => {
  const long = `v=STSv1; id=1; ${each.repeat(10_000_000 / each.length)}`;
  expect(processorMs(() => expect(stsRecordId([long])).toBeNull())).toBeLessThan(2_000);
});
