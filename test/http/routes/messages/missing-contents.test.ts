import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';

let service: DatabaseService;
let key: string;

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
});
afterAll(() => service.close());

const get = async (url: string) => ({ body: (await service.request({ url, key })).json() });

const send = async (more: object): Promise<string> => {
  const payload = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', text: 'Hello', ...more };
  return (await service.request({ method: 'POST', url: '/v1/messages/send', key, payload })).json().id;
};

test('the text and attachments of a message are loaded only where they are shown', async () => {
  const loaded = vi.spyOn(service.deps.context.contents, 'get');
  const id = await send({
    attachments: [{ filename: 'a.txt', content: 'aGVsbG8=' }],
    tags: [{ name: 'a', value: 'b' }],
  });
  const one = (await get(`/v1/messages/${id}`)).body;
  expect(one).toMatchObject({ subject: 'Hello', recipients: [{ address: 'b@example.org' }] });
  expect((await get('/v1/messages?limit=1')).body.data).toMatchObject([
    { id, subject: 'Hello', from: 'a@example.test' },
  ]);
  for (const url of ['/v1/events?limit=1', `/v1/messages/${id}/events`]) {
    const [event] = (await get(url)).body.data;
    expect(event.data).toMatchObject({ recipient: { address: 'b@example.org' }, tags: [{ name: 'a', value: 'b' }] });
  }
  expect(loaded).not.toHaveBeenCalled();
  expect((await get(`/v1/messages/${id}/content`)).body.attachments).toMatchObject([{ content: 'aGVsbG8=' }]);
  loaded.mockRestore();
});
