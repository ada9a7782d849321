import { describe, expect, test } from 'vitest';
import type { ReportedFailure } from '../../../src/domain/bounce/report.ts';
import { attributeFailures, recipientsNamed } from '../../../src/domain/bounce/report.ts';

const ann = { id: 'rcp_1', address: 'Ann@example.org' };
const bob = { id: 'rcp_2', address: 'bob@example.org' };
const erased = { id: 'rcp_3', address: null };
const failing = (...addresses: readonly string[]): ReportedFailure => ({
  addresses,
  failed: addresses,
  isPermanent: true,
  code: 550,
  enhanced: '5.1.1',
  mx: null,
  text: addresses.join(' '),
});
const ids = (found: readonly { readonly recipientId: string }[]) => found.map(({ recipientId }) => recipientId);

describe('a failure', () => {
  test('belongs to the recipient that the report names, however the address is written', () => {
    const failures = [failing('eve@example.org'), failing('other@example.net', 'ann@example.org')];
    const found = attributeFailures([ann, bob], failures);
    expect(found).toMatchObject([
      { recipientId: 'rcp_1', failure: { addresses: ['other@example.net', 'ann@example.org'] } },
    ]);
  });
  test('of several recipients belongs to each, once', () => {
    const failures = [failing('bob@example.org'), failing('ann@example.org'), failing('ann@example.org')];
    expect(ids(attributeFailures([ann, bob], failures))).toEqual(['rcp_1', 'rcp_2']);
  });
  test('that names no recipient, or a stranger, is attributed to no recipient', () => {
    expect(attributeFailures([ann, bob], [failing()])).toEqual([]);
    expect(attributeFailures([ann, bob], [failing('eve@example.org')])).toEqual([]);
    expect(attributeFailures([ann, erased], [failing('bob@example.org')])).toEqual([]);
    expect(attributeFailures([ann, bob], [])).toEqual([]);
  });
  test('belongs to the only recipient if the report does not say who failed', () => {
    const found = attributeFailures([erased], [failing()]);
    expect(found).toMatchObject([{ recipientId: 'rcp_3', isBehind: false }]);
  });
  test('of another address belongs to one behind the only recipient', () => {
    const found = attributeFailures([ann], [failing('forwarded@example.net')]);
    expect(found).toMatchObject([{ recipientId: 'rcp_1', isBehind: true }]);
  });
  test('of a member does not belong to the list that the report names as original recipient', () => {
    const member = { ...failing('ann@example.org', 'dead@example.net'), failed: ['dead@example.net'] };
    expect(attributeFailures([ann, bob], [member])).toMatchObject([{ recipientId: 'rcp_1', isBehind: true }]);
    const own = failing('ann@example.org');
    expect(attributeFailures([ann, bob], [member, own])).toEqual([
      { recipientId: 'rcp_1', failure: own, isBehind: false },
    ]);
  });
  test('belongs to the recipient of the returned copy before those of other copies', () => {
    const found = attributeFailures([bob], [failing('x@example.net'), failing(), failing('bob@example.org')]);
    expect(found).toMatchObject([{ failure: { text: 'bob@example.org' }, isBehind: false }]);
  });
  test('belongs to no recipient if none can be meant', () => {
    expect(attributeFailures([], [failing('bob@example.org')])).toEqual([]);
  });
});

test('a complaint belongs to the recipient of the copy, or to the one that it names', () => {
  expect(recipientsNamed([bob], [])).toEqual([bob]);
  expect(recipientsNamed([ann, bob], ['ann@example.org'])).toEqual([ann]);
  expect(recipientsNamed([ann, bob], [])).toEqual([]);
  expect(recipientsNamed([ann], [])).toEqual([ann]);
});
