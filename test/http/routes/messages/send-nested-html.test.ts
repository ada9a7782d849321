import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'b.test'))).value;
});
afterAll(() => service.close());

const send = (html: string) =>
  service.request({
    method: 'POST',
    url: '/v1/messages/send',
    key,
    payload: { from: 'x@b.test', to: 'b@example.org', subject: 'Hello', html },
  });

test('elements may be nested as deep as mail clients show them, and no deeper', async () => {
  const nested = (depth: number): string => `${'<div>'.repeat(depth)}x${'</div>'.repeat(depth)}`;
  expect((await send(nested(512))).statusCode).toBe(202);
  for (const depth of [513, 5_000]) {
    const answer = await send(nested(depth));
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error).toMatchObject({
      code: 'invalid_html',
      details: { html: ['html must be valid HTML: line 1, column 2561: elements are nested more than 512 deep'] },
    });
  }
});
