import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { closePeriod } from '../../../src/commands/billing.ts';
import { BUILT_IN_PLANS } from '../../../src/domain/billing/plan.ts';
import { signWebhook } from '../../../src/domain/webhook/webhook.ts';
import { countedDays } from '../../support/counted-days.ts';
import { freePort } from '../../support/free-port.ts';
import { folderForTest } from '../../support/place-for-test.ts';
import { startDatabaseService } from '../support/database-service.ts';

const blockOf = (name: string): string =>
  readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')
    .split('```js\n')[1]
    ?.split('```')[0] ?? '';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

type Handle = (request: IncomingMessage, response: ServerResponse, body: string) => Promise<void>;

const serve = async (handle: Handle): Promise<string> => {
  const server = createServer(async (request, response) => {
    await handle(request, response, Buffer.concat(await request.toArray()).toString());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

interface ChargedRequest {
  readonly path: string;
  readonly fields: Record<string, string>;
}

/** Imitates Stripe as far as the example needs it. A repeated idempotency key gets the earlier response. */
const openStripe = async () => {
  const made = new Map<string, ChargedRequest>();
  const answered = new Map<string, string>();
  let refusals = 0;
  const url = await serve(async ({ url: path = '', headers }, response, body) => {
    expect(headers).toMatchObject({
      authorization: 'Bearer sk_test',
      'content-type': /^application\/x-www-form-urlencoded/,
    });
    const key = String(headers['idempotency-key']);
    if (path === '/v1/invoiceitems' && refusals > 0) {
      refusals -= 1;
      response.writeHead(503).end();
      return;
    }
    const answer = answered.get(key) ?? JSON.stringify({ id: `in_${made.size}` });
    if (!answered.has(key)) made.set(key, { path, fields: Object.fromEntries(new URLSearchParams(body)) });
    answered.set(key, answer);
    response.end(answer);
  });
  return {
    url,
    made,
    refuse: (times: number) => {
      refusals = times;
    },
  };
};

test('the receiver of docs/billing.md makes one invoice at Stripe, however often the webhook comes and whatever fails', async () => {
  const service = await startDatabaseService({
    plans: {
      ...BUILT_IN_PLANS,
      default: { ...BUILT_IN_PLANS.default, price: 1900, included: 4, overagePer1000: '45.5' },
    },
  });
  onTestFinished(service.close);
  const organizationId = await service.makeOrganization();
  const { value: key } = await service.makeKey(
    organizationId,
    await service.makeDomain(organizationId, 'example.test'),
  );
  const { context } = service.deps;
  const count = async () => ({
    days: countedDays([['2026-10-07', 12_004]]),
    countedTo: { position: await context.store.head(), at: null },
  });
  await closePeriod(context, { organizationId, month: '2026-10', count });
  const feed = await service.request({ method: 'GET', url: '/v1/events?types=billing.*', key });
  const event = feed.json().data.at(-1);

  const outbox = await serve(async ({ url = '' }, response) => {
    response.end((await service.request({ method: 'GET', url, key })).body);
  });
  const stripe = await openStripe();
  const folder = await folderForTest();
  await writeFile(join(folder, 'verify.mjs'), blockOf('webhooks.md'));
  await writeFile(join(folder, 'charge.mjs'), blockOf('billing.md'));
  const port = await freePort();
  const receiver = spawn(process.execPath, [join(folder, 'charge.mjs')], {
    stdio: 'ignore',
    env: {
      PORT: String(port),
      OUTBOX_URL: outbox,
      OUTBOX_KEY: key,
      WEBHOOK_SECRET: SECRET,
      STRIPE_URL: stripe.url,
      STRIPE_KEY: 'sk_test',
      CUSTOMER: 'cus_1',
    },
  });
  onTestFinished(() => {
    receiver.kill();
  });
  const body = JSON.stringify(event);
  const post = async (secret = SECRET): Promise<number> => {
    const headers = { ...signWebhook([secret], { id: event.id, at: new Date(), body }) };
    return (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body })).status;
  };

  const forged = await vi.waitFor(() => post(`whsec_${Buffer.alloc(32, 8).toString('base64')}`), { timeout: 10_000 });
  expect([forged, stripe.made.size]).toEqual([500, 0]);
  stripe.refuse(1);
  expect([await post(), await post(), await post()]).toEqual([500, 204, 204]);

  const made = [...stripe.made.values()];
  const id = event.data.invoice_id;
  expect(made.map(({ path }) => path)).toEqual([
    '/v1/invoices',
    '/v1/invoiceitems',
    '/v1/invoiceitems',
    '/v1/invoices/in_0/finalize',
  ]);
  expect(made[0]?.fields).toMatchObject({ customer: 'cus_1', currency: 'eur', 'metadata[outbox_invoice]': id });
  expect(made.slice(1, 3).map(({ fields }) => [fields.invoice, fields.amount, fields.description])).toEqual([
    ['in_0', '1900', expect.stringContaining('plan: ')],
    ['in_0', '546', expect.stringContaining('recipients: 12004 (2026-10)')],
  ]);
  expect(made.slice(1, 3).reduce((sum, { fields }) => sum + Number(fields.amount), 0)).toBe(event.data.total);
});
