import { expect, test } from 'vitest';
import { startDatabaseService } from '../support/database-service.ts';
import { useTenant } from './tenant.ts';

const { ask } = useTenant(() => startDatabaseService());

test('pages of a list keep their limit, and each of their addresses works', async () => {
  const addresses = ['a@example.net', 'b@example.net', 'c@example.net'];
  const payload = addresses.map((address) => ({ address }));
  expect((await ask('mailgun', 'POST', '/v3/a.test/bounces', { payload })).status).toBe(200);
  const read = async (url: string) => {
    const answer = await ask('mailgun', 'GET', url.slice(url.indexOf('/v3/')));
    expect([url, answer.status]).toEqual([url, 200]);
    return answer.body;
  };
  const addressesOf = ({ items }: { readonly items: readonly { readonly address: string }[] }) =>
    items.map(({ address }) => address);
  const first = await read('/v3/a.test/bounces?limit=2');
  expect(Object.keys(first.paging)).toEqual(['first', 'next']);
  const next = await read(first.paging.next);
  expect([...addressesOf(first), ...addressesOf(next)].toSorted()).toEqual(addresses);
  expect(addressesOf(next)).toHaveLength(1);
  expect(await read(first.paging.first)).toEqual(first);
  // The published client adds the limit of its caller.
  expect(addressesOf(await read(`${first.paging.first}&limit=1`))).toHaveLength(1);
  expect((await read(next.paging.next)).items).toEqual([]);
  for (const limit of ['0', 'x', '1001', '2&limit=0'])
    expect((await ask('mailgun', 'GET', `/v3/a.test/bounces?limit=${limit}`)).status).toBe(400);
});
