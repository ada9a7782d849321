import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONFIRMATIONS_PER_DAY_MAX } from '../../../src/http/resources/forward-confirmation.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

let service: DatabaseService;
let organizationId: string;
let key: string;
let domainId: string;
let otherKey: string;

beforeAll(async () => {
  service = await startDatabaseService();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  const other = await service.makeOrganization();
  otherKey = (await service.makeKey(other, await service.makeDomain(other, 'other.test'))).value;
});
afterAll(() => service.close());

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
const ask = async (method: Method, url: string, payload?: object, by = key) => {
  const answer = await service.request({ method, url, key: by, ...(payload === undefined ? {} : { payload }) });
  return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
};
const LIST = '/v1/inbound-routes';
let addresses = 0;
/** Each test has an address of its own, because the mails to one are limited. */
const newAddress = (): string => {
  addresses += 1;
  return `ann${addresses}@example.net`;
};
const create = (fields: object) =>
  ask('POST', LIST, { domain_id: domainId, match: 'ann', action: 'forward', ...fields });

/** Links mailed to an address, the last one first. */
const linksTo = async (address: string): Promise<readonly string[]> => {
  const { contents, store } = service.deps.context;
  const { events } = await store.readAll({ from: '', filter: { categories: ['message'] }, limit: 10_000 } as never);
  const ids = events.flatMap(({ type, data }) => (type === 'MessageAccepted' ? [data.contentId] : []));
  const bodies = await contents.get(ids);
  return ids
    .flatMap((id) => {
      const body = bodies.get(id);
      if (body?.kind !== 'message' || body.recipients[0]?.address !== address) return [];
      return /\/forward\/[\w-]+/.exec(body.text ?? '') ?? [];
    })
    .toReversed();
};
const page = (method: 'GET' | 'POST', url: string, form?: string) =>
  service.request({
    method,
    url,
    ...(form === undefined ? {} : { payload: form, headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
  } as never);

describe('a route that forwards', () => {
  test('waits until its address has confirmed by the button of the page', async () => {
    const address = newAddress();
    const { status, body } = await create({ forward_to: address });
    expect([status, body.forward_to, body.forward_status]).toEqual([201, address, 'pending']);
    const [link = ''] = await linksTo(address);
    for (let opened = 0; opened < 2; opened += 1) {
      const shown = await page('GET', link);
      expect([shown.statusCode, shown.body.includes(`ann@example.test to ${address}`)]).toEqual([200, true]);
    }
    expect((await page('POST', link, 'confirmed=no')).statusCode).toBe(400);
    expect((await page('POST', link)).statusCode).toBe(400);
    expect((await ask('GET', `${LIST}/${body.id}`)).body.forward_status).toBe('pending');
    for (let posted = 0; posted < 2; posted += 1)
      expect((await page('POST', link, 'confirmed=yes')).statusCode).toBe(200);
    const confirmed = { ...body, forward_status: 'confirmed' };
    expect((await ask('GET', `${LIST}/${body.id}`)).body).toEqual(confirmed);
    expect((await ask('GET', LIST)).body.data).toContainEqual(confirmed);
    expect((await page('GET', link)).body).toContain('You have agreed');
  });

  test('asks again when its address changes, and earlier links confirm nothing', async () => {
    const [first, second] = [newAddress(), newAddress()];
    const { body } = await create({ forward_to: first });
    const [link = ''] = await linksTo(first);
    await page('POST', link, 'confirmed=yes');
    const url = `${LIST}/${body.id}`;
    const same = await ask('PATCH', url, { order: 3, forward_to: first.toUpperCase().replace('ANN', 'ann') });
    expect(same.body).toMatchObject({ order: 3, forward_status: 'confirmed' });
    const changed = await ask('PATCH', url, { forward_to: second });
    expect(changed.body).toMatchObject({ forward_to: second, forward_status: 'pending' });
    expect((await page('POST', link, 'confirmed=yes')).statusCode).toBe(404);
    expect((await ask('PATCH', url, { forward_to: first })).body.forward_status).toBe('pending');
    expect((await page('POST', link, 'confirmed=yes')).statusCode).toBe(404);
    expect(await linksTo(first)).toHaveLength(2);
  });

  test('has no address after its action changes, and its link ends with it', async () => {
    const address = newAddress();
    const { body } = await create({ forward_to: address });
    const [link = ''] = await linksTo(address);
    const changed = await ask('PATCH', `${LIST}/${body.id}`, { action: 'store' });
    expect(changed.body).toMatchObject({ action: 'store', forward_to: null, forward_status: null });
    expect((await page('GET', link)).statusCode).toBe(404);
  });

  test('ends with its link when it is deleted', async () => {
    const address = newAddress();
    const { body } = await create({ forward_to: address });
    const [link = ''] = await linksTo(address);
    await ask('DELETE', `${LIST}/${body.id}`);
    expect((await page('POST', link, 'confirmed=yes')).statusCode).toBe(404);
  });

  test.each([
    [{}, 'forward_to is required with action forward'],
    [{ forward_to: 'Ann <ann@example.net>' }, 'forward_to'],
    [{ forward_to: 'a@example.net, b@example.net' }, 'forward_to'],
    [{ forward_to: 'a@example.net\r\nBcc: b@example.net' }, 'forward_to'],
    [{ forward_to: 'a\0@example.net' }, 'forward_to'],
    [{ forward_to: '' }, 'forward_to'],
    [{ forward_to: ['a@example.net'] }, 'forward_to'],
    [{ forward_to: null }, 'forward_to'],
    [{ forward_to: `${'a'.repeat(400)}@example.net` }, 'forward_to'],
    [{ forward_to: 'a@example.net', action: 'store' }, 'forward_to is allowed only with action forward'],
    [{ forward_to: 'a@example.net', webhook_id: 'whk_aaaaaaaaaaaaaaaaaaaaaaaaaa' }, ''],
  ])('is refused with %#', async (fields, problem) => {
    const { status, body } = await create(fields);
    expect([400, 404]).toContain(status);
    expect(JSON.stringify(body.error)).toContain(problem);
    expect(await linksTo('a@example.net')).toEqual([]);
  });
});

describe('the address that is asked', () => {
  test('gets a few mails a day, whichever routes ask, also at the same moment', async () => {
    const address = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, each) => create({ match: `r${each}`, forward_to: address })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 429, 429, 429]);
    expect(await linksTo(address)).toHaveLength(CONFIRMATIONS_PER_DAY_MAX);
    const made = answers.find(({ status }) => status === 201)?.body;
    const again = await ask('POST', `${LIST}/${made.id}/confirmations`, {});
    expect([again.status, again.body.error.code]).toEqual([429, 'rate_limit_exceeded']);
    await ask('DELETE', `${LIST}/${made.id}`);
    expect((await create({ match: 'more', forward_to: address })).status).toBe(429);
  });

  test('can be asked again, and by another link', async () => {
    const address = newAddress();
    const { body } = await create({ forward_to: address });
    const again = await ask('POST', `${LIST}/${body.id}/confirmations`, {});
    expect([again.status, again.body]).toEqual([200, body]);
    const links = await linksTo(address);
    expect(links.length).toBeGreaterThanOrEqual(1);
    expect((await page('POST', links.at(-1) ?? '', 'confirmed=yes')).statusCode).toBe(200);
    const confirmed = await ask('POST', `${LIST}/${body.id}/confirmations`, {});
    expect(confirmed.body.forward_status).toBe('confirmed');
    expect(await linksTo(address)).toHaveLength(links.length);
  });

  test('is asked again only by its organization, and not for a route without an address', async () => {
    const { body } = await create({ match: 'stored', action: 'store' });
    const url = `${LIST}/${body.id}/confirmations`;
    expect((await ask('POST', url, {}, otherKey)).status).toBe(403);
    expect((await ask('POST', url, {})).status).toBe(400);
    expect((await ask('POST', `${LIST}/irt_${'a'.repeat(26)}/confirmations`, {})).status).toBe(404);
  });

  test.each(['x', `${'a'.repeat(68)}`, '../v1/organization', '%00', '%0d%0a', 'a'.repeat(2_000)])(
    'has no link such as %j',
    async (token) => {
      for (const method of ['GET', 'POST'] as const)
        expect([400, 401, 404, 414]).toContain((await page(method, `/forward/${token}`, 'confirmed=yes')).statusCode);
    },
  );
});
